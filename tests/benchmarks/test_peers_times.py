"""What the peers' times mean: ratios, ties, shares, the table and the picture."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from benchmarks.peers import plot
from benchmarks.peers.catalogue import WORKLOADS
from benchmarks.peers.times import OURS, Row, Times, geometric_mean, table
from tuner.record import Peaks

LIMITS = Peaks(flops_per_s=200e9, copy_bytes_per_s=50e9)


def times(median_ms: float, spread: float = 0.01) -> Times:
    median = median_ms / 1e3
    return Times(median, (median * (1 - spread), median * (1 + spread)), median, 30)


def row(name: str = "W1", skipped: dict[str, str] | None = None, **ms: float) -> Row:
    found = {peer: times(value) for peer, value in ms.items()}
    versions = {peer: f"{peer} 1.0" for peer in ms}
    return Row(WORKLOADS[name], 1, LIMITS, found, skipped or {}, versions)


def test_times_have_the_interval_of_order_statistics() -> None:
    found = Times.of([float(n) for n in range(1, 31)])
    assert (found.median_s, found.ci_s, found.min_s, found.samples) == (15.5, (10.0, 21.0), 1.0, 30)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="5 samples are too few"):
        Times.of([1.0] * 5)


def test_the_ratio_is_of_the_fastest_peer_and_above_one_where_we_are_faster() -> None:
    found = row(numpy=3.0, torch=1.5, tilewright=1.0)
    assert found.best_peer == "torch"
    assert found.ratio == pytest.approx(1.5)
    assert not found.tie


def test_overlapping_intervals_are_a_tie_whoever_is_ahead() -> None:
    assert row(torch=1.01, tilewright=1.0).tie
    assert row(torch=1.0, tilewright=1.015).tie
    assert not row(torch=1.03, tilewright=1.0).tie


def test_without_peers_or_without_ours_there_is_no_ratio() -> None:
    alone, absent = row(tilewright=1.0), row(torch=1.0)
    assert (alone.best_peer, alone.ratio, alone.tie) == (None, None, False)
    assert (absent.best_peer, absent.ratio, absent.tie) == ("torch", None, False)


def test_shares_are_of_the_limit_that_binds() -> None:
    flops = 2 * 512**3
    assert row("W1", torch=2.0).share("torch") == pytest.approx(flops / 2e-3 / 200e9)
    moved = 2 * 4 * 2048**2
    assert row("W16", torch=2.0).share("torch") == pytest.approx(moved / 2e-3 / 50e9)


def test_the_mean_of_ratios_is_geometric() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


def test_the_table_has_ours_last_and_says_why_peers_were_skipped() -> None:
    gone = {"tvm": "no module named tvm"}
    lines = table([
        row("W1", gone, tilewright=1.0, numpy=3.0),
        row("W7", gone | {"numpy": "too slow"}, tilewright=2.0, torch=2.0),
    ])  # fmt: skip
    head = "| workload | limit | numpy | torch | tilewright | best peer | best peer / ours |"
    assert lines[0] == head
    assert lines[2].split(" | ")[1:] == [
        "f32 200", "3 (45%)", "", "1 (134%)", "numpy", "3.00 |",
    ]  # fmt: skip
    assert lines[3].endswith("| torch | 1.00 (tie) |")
    assert f"Geometric mean of the ratios of 2 workloads: {math.sqrt(3):.2f}." in lines
    assert lines[-2:] == ["- tvm, W1, W7: no module named tvm", "- numpy, W7: too slow"]


def test_a_row_is_written_with_what_it_takes_to_read_it_alone() -> None:
    written = row("W4", {"halide": "crashed"}, torch=0.2, tilewright=0.1).to_json()
    assert written["ratio"] == pytest.approx(2.0)
    assert written["peers"]["torch"]["version"] == "torch 1.0"
    assert written["skipped"] == {"halide": "crashed"}
    assert (written["workload"], written["threads"], written["best_peer"]) == ("W4", 1, "torch")


def test_the_picture_has_a_dot_for_each_peer_and_row_and_none_beyond_the_axis() -> None:
    picture = plot.svg([row(torch=2.0, numpy=100.0, **{OURS: 1.0}), row("W7", torch=1.0)])
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "<title>torch 2.00</title>" in picture
    assert "<title>numpy 100.00</title>" in picture
    assert picture.count("<circle") == 2 + 2  # the legend, and W1: W7 has nothing of ours
    last = plot.EDGE + plot.LABELS + plot.WIDE
    assert f'cx="{last:.1f}"' in picture
