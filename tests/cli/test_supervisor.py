import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright import supervisor
from tilewright.supervisor import Role, Supervisor

FOREVER = "import time\nprint('here', flush=True)\ntime.sleep(600)"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FOREVER


def _role(script: str, name: str = "worker") -> Role:
    return Role(name, (sys.executable, "-c", script))


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 30 s"
        time.sleep(0.02)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_role_that_dies_starts_again_with_growing_back_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_S", 0.01)
    said: list[str] = []
    with Supervisor(tmp_path, said.append) as roles:
        roles.start(_role("import sys\nprint('out of luck', flush=True)\nsys.exit(3)"))

        def thrice() -> bool:
            roles.tend()
            return len(said) == 3

        _until(thrice)
    assert said == [
        f"worker ended (status 3) and starts again in {delay} s: out of luck"
        for delay in ("0.01", "0.02", "0.04")
    ]


def test_a_role_that_was_killed_gets_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACK_OFF_S", 0.01)
    said: list[str] = []
    with Supervisor(tmp_path, said.append) as roles:
        roles.start(_role(FOREVER))
        first = roles.pid("worker")
        os.kill(first, signal.SIGKILL)

        def another() -> bool:
            roles.tend()
            return roles.pid("worker") != first

        _until(another)
        assert roles.status("worker") is None
        assert "signal SIGKILL" in said[0]


def test_stop_ends_every_role_even_a_stubborn_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "GRACE_S", 0.2)
    with Supervisor(tmp_path, print) as roles:
        roles.start(_role(FOREVER, "server"))
        roles.start(_role(STUBBORN, "worker"))
        _until(lambda: roles.last_words("worker") == "here")
        pids = [roles.pid("server"), roles.pid("worker")]
    assert all(_gone(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process its parent died")
def test_a_supervisor_killed_by_9_leaves_no_role_behind(tmp_path: Path) -> None:
    role = "from tilewright.supervisor import end_with_supervisor as e\ne()\n" + FOREVER
    parent = (
        "import sys, time\nfrom pathlib import Path\n"
        "from tilewright.supervisor import Role, Supervisor\n"
        f"roles = Supervisor(Path({str(tmp_path)!r}), print)\n"
        f"roles.start(Role('worker', (sys.executable, '-c', {role!r})))\n"
        "print(roles.pid('worker'), flush=True)\ntime.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        log = tmp_path / "worker.log"
        _until(lambda: log.exists() and "here" in log.read_text())
        process.kill()
    _until(lambda: _gone(pid))
