"""The canonical form and its golden hashes: they name workloads in every database there is."""

from __future__ import annotations

import pytest

from tuner.frontends.catalogue import program_for
from tuner.frontends.text import parse
from tuner.ir.canonical import canonicalize, workload_hash
from tuner.ir.show import show

DENSE_RELU = """
def dense_relu(x: f32[512, 768], w: f32[768, 3072], b: f32[3072], y: f32[512, 3072]):
    h = buffer(f32[512, 3072])
    for i, j in grid(512, 3072):
        h[i, j] = 0.0
        for k in range(768):
            h[i, j] += x[i, k] * w[k, j]
    for i, j in grid(512, 3072):
        y[i, j] = max(h[i, j] + b[j], 0.0)
"""

GOLDEN_TEXT = """\
def program(b0: f32[512, 768], b1: f32[768, 3072], b2: f32[3072], b3: f32[512, 3072]):
    b4 = buffer(f32[512, 3072])
    for l0 in range(512):
        for l1 in range(3072):
            b4[l0, l1] = 0.0
            for l2 in range(768):
                b4[l0, l1] += b0[l0, l2] * b1[l2, l1]
    for l3 in range(512):
        for l4 in range(3072):
            b3[l3, l4] = max(b4[l3, l4] + b2[l4], 0.0)
"""


def _hash(text: str) -> str:
    return workload_hash(canonicalize(parse(text))[0])


def test_the_canonical_text() -> None:
    canonical, names = canonicalize(parse(DENSE_RELU))
    assert show(canonical) == GOLDEN_TEXT
    assert names == {
        "program": "dense_relu", "b0": "x", "b1": "w", "b2": "b", "b3": "y", "b4": "h",
        "l0": "i", "l1": "j", "l2": "k", "l3": "i_2", "l4": "j_2",
    }  # fmt: skip


CONV = {"c": 64, "h": 56, "w": 56, "f": 64, "kh": 3, "kw": 3, "pad": 1}
GOLDEN = [
    ("matmul", {"m": 512, "n": 512, "k": 512}, "w1:ccbc801ca37cc1a88468856e9091389d"),
    (
        "dense",
        {"m": 512, "n": 3072, "k": 768, "activation": "relu"},
        "w1:3467e150486bb5930836b5f13843a4d8",
    ),
    ("conv2d", CONV, "w1:ec51e61ccf0bd395f6687d72d3ac9727"),
    ("softmax", {"rows": 512, "cols": 1024}, "w1:de3fe426897a9fcf8270bb4e45922078"),
]


@pytest.mark.parametrize(("op", "sizes", "expected"), GOLDEN)
def test_golden_hashes_of_operators(op: str, sizes: dict[str, int], expected: str) -> None:
    assert workload_hash(canonicalize(program_for(op, sizes))[0]) == expected


def test_golden_hash_of_a_text() -> None:
    assert _hash(DENSE_RELU) == "w1:e8b96c4bb8e8a4485409f5c413b99527"


PLAIN = """
def f(x: f32[8, 9], y: f32[8]):
    for i in range(8):
        y[i] = 0.0
        for j in range(9):
            y[i] += x[i, j]
"""
SAME = {
    "other names": PLAIN.replace("x", "source").replace("i", "row").replace("drowf", "def")
    .replace("rown", "in"),
    "an unused buffer": PLAIN.replace("    for i", "    t = buffer(f32[3])\n    for i", 1),
    "a subscript in other words": PLAIN.replace("x[i, j]", "x[(2 * i + j - j) // 2, 0 + j % 9]"),
    "a test that always holds": PLAIN.replace(
        "            y[i] += x[i, j]", "            if i + j < 99:\n                y[i] += x[i, j]"
    ),
    "a conditional that always holds": PLAIN.replace("+= x[i, j]", "+= x[i, j] if j < 9 else 1.0"),
    "a statement that never runs": PLAIN + "        if i > 7:\n            y[i] = 3.0\n",
    "a loop that never does anything": PLAIN + "    for k in range(5):\n        if k < 0:\n"
    "            y[k] = 3.0\n",
    "grid": PLAIN.replace("for i in range(8)", "for i in grid(8)"),
    "another literal for the same value": PLAIN.replace("0.0", "0.5 - 0.5"),
}  # fmt: skip


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_the_same_computation_has_the_same_hash(text: str) -> None:
    assert _hash(text) == _hash(PLAIN)


DIFFERENT = {
    "another extent": PLAIN.replace("9", "8"),
    "another type": PLAIN.replace("x: f32", "x: f64"),
    "weights": PLAIN.replace("x: f32[8, 9]", "x: const[f32[8, 9]]"),
    "another order": PLAIN.replace("x[i, j]", "x[i, 8 - j]"),
    "another reducer": PLAIN.replace("+=", "*="),
    "another start": PLAIN.replace("0.0", "1.0"),
    "an unrolled loop": PLAIN.replace("range(9)", "unrolled(9)"),
}


@pytest.mark.parametrize("text", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_another_computation_has_another_hash(text: str) -> None:
    assert _hash(text) != _hash(PLAIN)


def test_sums_are_ordered_by_loop() -> None:
    text = "def f(x: f32[99], y: f32[4, 5]):\n    for i, j in grid(4, 5):\n        y[i, j] = {}\n"
    one = text.format("x[j + 3 * i + 1] if 2 <= j + i else 0.0")
    other = text.format("x[1 + i * 3 + j] if 2 <= i + j else 0.0")
    assert _hash(one) == _hash(other)


def test_a_literal_keeps_its_type_when_a_test_is_decided() -> None:
    text = (
        "def f(x: f32[4], y: f64[4]):\n    for i in range(4):\n"
        "        y[i] = f64((0.1 if i < 9 else x[i]) * 2)\n"
    )
    canonical, _ = canonicalize(parse(text))
    assert parse(show(canonical)) == canonical
