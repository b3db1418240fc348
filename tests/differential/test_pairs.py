"""A fixed, seeded share of the pairs that `make fuzz` draws without end."""

from pathlib import Path

import pytest

from tests.codegen.native import targets_here
from tests.differential.pairs import compiled, differing, draw, interpreted
from tests.differential.sanitized import run_sanitized

BLOCK = 20
BLOCKS = 16


@pytest.mark.parametrize("block", range(BLOCKS))
def test_interpreter_and_c_agree_before_and_after(block: int) -> None:
    pairs = [draw(seed) for seed in range(block * BLOCK, (block + 1) * BLOCK)]
    target = targets_here()[block % len(targets_here())]
    for pair, found in zip(pairs, compiled(pairs, target), strict=True):
        assert not (why := differing(pair, interpreted(pair))), f"{why}\n{pair.text()}"
        assert not (why := differing(pair, found)), f"in C: {why}\n{pair.text()}"


@pytest.mark.parametrize("seed", range(0, BLOCK * BLOCKS, 10))
def test_one_in_ten_under_sanitizers(seed: int, tmp_path: Path) -> None:
    pair = draw(seed)
    found = run_sanitized(pair, targets_here()[0], tmp_path)
    assert not (why := differing(pair, found)), f"{why}\n{pair.text()}"
