"""A fixed, seeded share of the pairs that `make fuzz` draws without end."""

from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from tests.codegen.native import targets_here
from tests.conftest import require_opencl
from tests.differential.on_device import is_bound, kernels, launched
from tests.differential.pairs import Pair, compiled, differing, draw, interpreted
from tests.differential.sanitized import run_sanitized
from tuner.errors import CodegenError, ScheduleError

BLOCK = 20
BLOCKS = 16
#: Pairs that are also run as OpenCL, whose compiler takes its time.
ON_DEVICE = 16

drawn = cache(draw)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_interpreter_and_c_agree_before_and_after(block: int) -> None:
    pairs = [drawn(seed) for seed in range(block * BLOCK, (block + 1) * BLOCK)]
    target = targets_here()[block % len(targets_here())]
    for pair, found in zip(pairs, compiled(pairs, target), strict=True):
        assert not (why := differing(pair, interpreted(pair))), f"{why}\n{pair.text()}"
        assert not (why := differing(pair, found)), f"in C: {why}\n{pair.text()}"


@pytest.mark.parametrize("seed", range(0, BLOCK * BLOCKS, 10))
def test_one_in_ten_under_sanitizers(seed: int, tmp_path: Path) -> None:
    pair = drawn(seed)
    found = run_sanitized(pair, targets_here()[0], tmp_path)
    assert not (why := differing(pair, found)), f"{why}\n{pair.text()}"


def _can_be_said(pair: Pair) -> bool:
    try:
        kernels(pair)
    except (CodegenError, ScheduleError):
        return False
    return True


def test_bound_pairs_agree_on_a_device() -> None:
    require_opencl()
    bound = (p for p in map(drawn, range(BLOCK * BLOCKS)) if is_bound(p) and _can_be_said(p))
    pairs = list(islice(bound, ON_DEVICE))
    assert len(pairs) == ON_DEVICE
    for pair in pairs:
        why = differing(pair, launched(pair, kernels(pair)))
        assert not why, f"in OpenCL: {why}\n{pair.text()}"
