"""Numbers that follow from names: the same everywhere, in whatever order they are asked for."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from tuner.space.knobs import Floats

_U64 = NDArray[np.uint64]
#: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix64.
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB),
)  # fmt: skip


def key(*parts: object) -> int:
    """64 bits that stand for `parts`, by their texts."""
    text = "\n".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def uniform(*parts: object) -> float:
    """A number in (0, 1) that follows from `parts`."""
    return float(uniforms(key(*parts), 1)[0])


def uniforms(key: int, n: int) -> Floats:
    """Independent numbers in (0, 1), [n]."""
    return _fractions(_mixed(np.uint64(key) + _counted(n)))


def normals(key: int, n: int) -> Floats:
    """Independent numbers of the standard normal distribution, [n], by Box and Muller, 1958."""
    radius = np.sqrt(-2.0 * np.log(uniforms(key, n)))
    turn = 2.0 * np.pi * uniforms(key ^ int(_STEP), n)
    return np.asarray(radius * np.cos(turn), dtype=np.float64)


def knots(key: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    """A number in (-1, 1) for each knot of an endless grid, in the shape of `rows`."""
    at = _mixed(np.uint64(key) + rows.astype(np.uint64) * _STEP)
    return 2.0 * _fractions(_mixed(at + columns.astype(np.uint64) * _SECOND)) - 1.0


def _counted(n: int) -> _U64:
    return np.arange(1, n + 1, dtype=np.uint64) * _STEP


def _mixed(x: _U64) -> _U64:
    """SplitMix64's finalizer."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def _fractions(x: _U64) -> Floats:
    """The upper 53 bits as a number in (0, 1)."""
    return ((x >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
