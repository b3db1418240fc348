"""The agent against a service in this process: answers lost, leases cancelled, workers drained."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from tests.workers.fake_server import TOKEN, FakeService, serving
from tests.workers.kernels import MATMUL
from tests.workers.test_sandbox import gone
from tuner.codegen.kernel import GENERATOR
from tuner.errors import TargetError
from tuner.ir.show import show
from tuner.record import Outcome, Timing
from tuner.schedule.steps import Split, schedule_to_json
from workers.agent import Agent, Options, run
from workers.client import Client
from workers.errors import ServiceError, Unauthorized, WrongVersion
from workers.fingerprint import look
from workers.playoff import MIN_SAMPLES
from workers.toolchain import Compiler

AtWork = Callable[[], AbstractContextManager[Agent]]
PROGRAM = show(MATMUL)
PLAIN = schedule_to_json(())
SPLIT = schedule_to_json((Split("l0", 8, "i0", "i1"),))
ILLEGAL = schedule_to_json((Split("nowhere", 8, "i0", "i1"),))
QUICK = Timing(min_total_s=0.001, min_sample_s=0.0001)
#: Times until it is stopped.
ENDLESS = Timing(min_total_s=60.0, max_samples=100000, min_sample_s=0.001, limit_s=90.0)


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serving(FakeService()) as serves:
        yield serves


@pytest.fixture
def working(service: FakeService, compiler: Compiler, cache: Path) -> AtWork:
    """A context with an agent at work for the service; it is drained at the end."""

    @contextmanager
    def at_work() -> Iterator[Agent]:
        options = Options(cache=cache, targets=("cpu-sse2-1t",))
        with closing(Client(service.url, TOKEN)) as client:
            agent = Agent(client, compiler, look(compiler), "w", options)
            thread = threading.Thread(target=agent.work)
            thread.start()
            try:
                yield agent
            finally:
                agent.drain.set()
                thread.join(30)
                assert not thread.is_alive()

    return at_work


needs_sse2 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="needs x86-64")
pytestmark = needs_sse2


def test_a_lease_is_measured_and_reported(service: FakeService, working: AtWork) -> None:
    lease = service.offer(PROGRAM, [PLAIN, ILLEGAL, SPLIT, {"nonsense": 1}], timing=QUICK)
    second = service.offer(PROGRAM, [SPLIT], timing=QUICK, peaks_wanted=True)
    with working():
        service.wait_for(lambda: len(service.results) == 5)
        service.wait_for(lambda: service.beats[-1] == [])  # both are let go
    outcomes = [service.results[f"c{i}"].outcome for i in range(5)]
    assert outcomes == ["ok", "refused", "ok", "refused", "ok"]
    assert "nowhere" in service.results["c1"].detail
    for measurement in service.results.values():
        assert measurement.generator == GENERATOR
        assert measurement.timing == QUICK
    good = service.results["c0"]
    assert good.source_sha256 != service.results["c2"].source_sha256
    assert service.results["c2"].source_sha256 == service.results["c4"].source_sha256
    assert "-fgcse" in good.flags
    assert good.build_s > 0
    assert max(service.handed_in.values()) == 1
    assert len(service.peaks) == 1
    assert any(lease in beat for beat in service.beats)
    assert any(second in beat for beat in service.beats)
    introduced = service.enrolments[0]
    assert introduced["fingerprint"].startswith("f1:")
    assert introduced["targets"] == ["cpu-sse2-1t"]
    assert introduced["generator"] == GENERATOR


def test_a_play_off_times_in_turn(service: FakeService, working: AtWork) -> None:
    service.offer(PROGRAM, [PLAIN, ILLEGAL, SPLIT], purpose="playoff", timing=QUICK)
    with working():
        service.wait_for(lambda: len(service.results) == 3)
    assert [service.results[f"c{i}"].outcome for i in range(3)] == ["ok", "refused", "ok"]
    assert len(service.results["c0"].samples_s) >= MIN_SAMPLES


def test_lost_answers_lose_nothing(service: FakeService, working: AtWork) -> None:
    """Each answer is lost once after its work was done; the worker asks again by the same id."""
    service.lose.update(enrol=1, claims=1, heartbeats=1, results=1)
    service.offer(PROGRAM, [PLAIN, SPLIT], timing=QUICK)
    with working():
        service.wait_for(lambda: len(service.results) == 2 and service.handed_in["c0"] == 2)
        service.wait_for(lambda: not any(service.beats[-1]))
    assert {m.outcome for m in service.results.values()} == {Outcome.OK}
    assert len([g for g in service.granted.values() if g]) == 1


def test_a_service_that_is_away_for_a_while(service: FakeService, working: AtWork) -> None:
    away = (503, {"title": "away"})
    service.refuse = {"results": [away, away], "claims": [away], "heartbeats": [away]}
    service.offer(PROGRAM, [PLAIN], timing=QUICK)
    with working():
        service.wait_for(lambda: service.handed_in["c0"] == 1)


def test_a_stale_lease_is_dropped(service: FakeService, working: AtWork) -> None:
    service.refuse = {"results": [(409, {"type": "stale-lease", "title": "stale lease"})]}
    service.offer(PROGRAM, [PLAIN], timing=QUICK)
    with working():
        service.wait_for(lambda: not service.refuse["results"])
        service.offer(PROGRAM, [SPLIT], timing=QUICK)
        service.wait_for(lambda: "c1" in service.results)
    assert "c0" not in service.results


def test_cancel_kills_the_current_run(service: FakeService, working: AtWork) -> None:
    lease = service.offer(PROGRAM, [PLAIN, SPLIT], timing=ENDLESS)
    with working():
        service.wait_for(lambda: any(lease in beat for beat in service.beats))
        time.sleep(1.0)  # well into the endless timing
        start = time.monotonic()
        service.cancel.add(lease)
        service.offer(PROGRAM, [PLAIN], timing=QUICK)
        service.wait_for(lambda: "c2" in service.results)
    assert time.monotonic() - start < 20
    assert set(service.results) == {"c2"}


def test_without_beats_the_lease_is_given_up(service: FakeService, working: AtWork) -> None:
    service.lease_s = 0.5
    away = (503, {"title": "away"})
    lease = service.offer(PROGRAM, [PLAIN], timing=ENDLESS)
    with working():
        service.wait_for(lambda: any(lease in beat for beat in service.beats))
        service.refuse["heartbeats"] = [away] * 60  # they come every 20 ms then
        service.wait_for(lambda: not service.refuse["heartbeats"])
        service.offer(PROGRAM, [PLAIN], timing=QUICK)
        service.wait_for(lambda: "c1" in service.results)
    assert "c0" not in service.results


def test_a_forgotten_worker_enrols_again(service: FakeService, working: AtWork) -> None:
    service.refuse = {"claims": [(404, {"title": "no such worker"})]}
    with working():
        service.wait_for(lambda: len(service.enrolments) == 2)
        service.offer(PROGRAM, [PLAIN], timing=QUICK)
        service.wait_for(lambda: "c0" in service.results)


def test_the_service_can_drain_a_worker(service: FakeService, working: AtWork) -> None:
    service.offer(PROGRAM, [PLAIN, SPLIT], timing=ENDLESS)
    with working() as agent:
        service.wait_for(lambda: any(service.beats) and service.beats[-1] != [])
        service.drain = True
        assert agent.drain.wait(10)


@pytest.mark.parametrize(
    ("answer", "error"), [(426, WrongVersion), (401, Unauthorized), (422, ServiceError)]
)
def test_a_refused_enrolment_ends_the_worker(
    service: FakeService, cache: Path, compiler: Compiler, answer: int, error: type[Exception]
) -> None:
    service.refuse = {"enrol": [(answer, {"detail": "because"})]}
    with pytest.raises(error, match="because"):
        run(service.url, TOKEN, "w", Options(cache=cache))


def test_refused_claims_end_the_worker(
    service: FakeService, cache: Path, compiler: Compiler
) -> None:
    service.refuse = {"claims": [(401, {"detail": "revoked"})]}
    with pytest.raises(Unauthorized, match="revoked"):
        run(service.url, TOKEN, "w", Options(cache=cache))


def test_a_target_that_the_machine_lacks(
    service: FakeService, cache: Path, compiler: Compiler
) -> None:
    with pytest.raises(TargetError, match=r"no target cpu-neon-1t; it has: .*cpu-sse2-1t"):
        run(service.url, TOKEN, "w", Options(targets=("cpu-neon-1t",), cache=cache))


SCRIPT = """
import sys
from pathlib import Path
from workers.agent import Options, run
url, token, cache = sys.argv[1:]
sys.exit(run(url, token, "w", Options(cache=Path(cache), targets=("cpu-sse2-1t",))))
"""


def children(pid: int) -> list[int]:
    """Processes that `pid` started, and theirs."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    own = sorted({int(c) for task in tasks for c in task.read_text().split()})
    return own + [c for one in own for c in children(one)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signals(
    service: FakeService, cache: Path, compiler: Compiler, number: signal.Signals
) -> None:
    """SIGTERM drains within seconds; SIGKILL leaves no process behind either."""
    service.offer(PROGRAM, [PLAIN], timing=QUICK)
    endless = service.offer(PROGRAM, [SPLIT], timing=ENDLESS)
    argv = [sys.executable, "-c", SCRIPT, service.url, TOKEN, str(cache)]
    worker = subprocess.Popen(argv, cwd=Path(__file__).parents[2])
    try:
        service.wait_for(lambda: "c0" in service.results)
        service.wait_for(lambda: any(endless in beat for beat in service.beats))
        time.sleep(0.5)
        started = children(worker.pid)
        assert started
        worker.send_signal(number)
        status = worker.wait(15)
    finally:
        worker.kill()
    assert status == (-9 if number is signal.SIGKILL else 0)
    assert all(gone(pid) for pid in started)
