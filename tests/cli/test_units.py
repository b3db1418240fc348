import pytest

from tests.cli.service import best, job
from tilewright import units


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.5, "1.5 s"), (0.003912, "3.912 ms"), (25e-6, "25 µs"), (3e-10, "0.3 ns")],
)
def test_seconds_have_the_unit_that_fits(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_an_interval_has_one_unit() -> None:
    assert units.interval((0.00098, 0.0011)) == "980 … 1100 µs"


def test_the_rate_is_the_one_that_says_more() -> None:
    assert units.rate(best(gflops=68.6, gbytes_per_s=0.8)) == "68.6 GFLOP/s"
    assert units.rate(best(gflops=10.1, gbytes_per_s=16.2)) == "16.2 GB/s"


def test_a_label_leaves_out_what_the_operator_has_by_itself() -> None:
    (workload,) = job()["workloads"]
    workload |= {"op": "conv2d", "sizes": {"n": 1, "kh": 3, "stride": 1, "pad": 1}}
    assert units.label(workload) == "conv2d kh=3 pad=1"
    assert units.label(workload | {"op": None, "name": "my_program"}) == "my_program"


def test_a_clock_never_runs_below_zero() -> None:
    assert units.clock(65.4) == "1:05"
    assert units.clock(-3.0) == "0:00"
