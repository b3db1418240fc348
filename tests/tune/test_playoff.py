"""The play-off: who takes part, intervals, ties."""

import math

import pytest

from tests.tune.fake_bench import MACHINE, SETUP, FakeBench, by_hash
from tests.tune.jobs import AVX512, MATMUL, job, run
from tuner.record import Measurement, Outcome, Purpose, Record
from tuner.tune.playoff import LEADERS, MAX_LEADERS, interval, leaders, noise_of, ranking
from tuner.tune.track import Track


def track(*seconds, shas=None, noise=0.0):
    """A track whose records have these medians, None for failures, among samples that are `noise`
    apart."""
    found = Track(job(MATMUL), MATMUL, SETUP)
    for n, median in enumerate(seconds):
        outcome = Outcome.OK if median else Outcome.CRASH
        found.records.append(Record(
            id=f"r{n}", workload=MATMUL.hash, target=AVX512.name, fingerprint=MACHINE,
            steps={"version": 1, "steps": [], "n": n}, purpose=Purpose.SEARCH,
            measurement=Measurement(
                outcome=outcome, median_s=median, source_sha256=shas[n] if shas else f"sha{n}",
                samples_s=tuple(median * math.exp(d * noise) for d in (-1, 0, 1)) if median else (),
            ),
        ))  # fmt: skip
    return found


def numbers(candidates):
    return [c.steps["n"] for c in candidates]


def test_leaders_are_within_a_tenth_of_the_fastest():
    assert numbers(leaders(track(1.2, None, 1.0, 1.05, 1.11))) == [2, 3]


def test_there_are_at_most_four_leaders():
    found = leaders(track(*(1.0 + 0.001 * n for n in range(9))))
    assert numbers(found) == list(range(LEADERS))
    assert {c.purpose for c in found} == {Purpose.PLAYOFF}
    assert all(c.timing.min_samples >= 20 for c in found)


def test_noise_is_that_of_the_trials_in_the_middle():
    assert noise_of(track(1.0, None, 2.0, noise=0.07).records) == pytest.approx(0.07)
    assert noise_of(track(None).records) == 0.0


def test_where_it_is_loud_more_play_and_from_further_behind():
    seconds = [1.0 + 0.05 * n for n in range(40)]
    assert numbers(leaders(track(*seconds, noise=0.01))) == [0, 1, 2]
    assert numbers(leaders(track(*seconds, noise=0.06))) == [0, 1, 2, 3]
    assert numbers(leaders(track(*seconds, noise=0.12))) == [0, 1, 2, 3, 4, 5, 6]
    assert numbers(leaders(track(*seconds, noise=0.5))) == list(range(MAX_LEADERS))


def test_equal_sources_play_once():
    assert numbers(leaders(track(1.0, 1.01, 1.02, shas=("a", "a", "b")))) == [0, 2]


def test_nobody_plays_where_nothing_passed():
    assert leaders(track(None, None)) == []


@pytest.mark.parametrize(("n", "low", "high"), [(6, 0, 5), (10, 1, 8), (20, 5, 14), (30, 9, 20)])
def test_interval_of_the_median(n, low, high):
    # Ranks of the binomial 95% interval, as tables have them (counted from 0).
    samples = [float(i) for i in range(n)]
    assert interval(samples[::-1]) == (low, high)


def test_interval_covers_as_it_says():
    for n in range(6, 60):
        low, high = interval([float(i) for i in range(n)])
        outside = 2 * sum(math.comb(n, k) for k in range(int(low) + 1)) / 2**n
        assert outside <= 0.05
        assert high == n - 1 - low


def test_few_samples_have_no_interval():
    assert interval([1.0] * 5) is None


def test_overlapping_intervals_are_ties():
    found = track(1.0, 1.01, 1.05)
    results = {}
    for candidate, median in zip(leaders(found), (1.02, 1.01, 1.5), strict=True):
        samples = tuple(median + 0.001 * (i - 15) for i in range(30))
        results[candidate.id] = Record(
            id=candidate.id, workload=MATMUL.hash, target=AVX512.name, fingerprint=MACHINE,
            steps=candidate.steps, purpose=Purpose.PLAYOFF,
            measurement=Measurement(
                outcome=Outcome.OK, median_s=median, samples_s=samples, prepare_s=7 * median,
                prepared_bytes=127,
            ),
        )  # fmt: skip
    first, second, third = ranking(found, results, None, AVX512)
    assert [s.median_s for s in (first, second, third)] == [1.01, 1.02, 1.5]
    assert (first.ties, second.ties, third.ties) == ((second.id,), (first.id,), ())
    assert first.peak_share is None
    assert (first.prepare_s, first.prepared_bytes) == (7 * 1.01, 127)


def test_a_leader_that_fails_in_the_play_off_is_out():
    def measure(steps):
        failing.append(1)
        return by_hash(steps)

    failing = []
    bench = FakeBench([MATMUL], measure=measure)
    bench._many_samples = lambda candidate, once: Measurement(
        outcome=Outcome.CRASH, detail="SIGSEGV"
    )
    (tuned,) = run(bench, MATMUL, trials=12)
    # The search trial would be served, but its sum is made up.
    assert "the generator has changed" in tuned.reason
