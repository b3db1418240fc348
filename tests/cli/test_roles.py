import pytest

from tilewright.cli import run
from tuner.model.machine import MACHINES

ANYWHERE = ("--url", "http://service.test")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["server", "--host", "0.0.0.0"], "is not the loopback"),
        (["tuner"], "start `tilewright server` on it first"),
        (["worker", "--url", "http://service.test", "--token-file", "none"], "none has none"),
        (["worker", "--simulate", "abacus"], "unknown machine 'abacus'; there are: a100,"),
        (["worker", "--simulate", "zen4", "--faults", "crush=1"], "no fault 'crush'; there are:"),
        (["worker", "--simulate", "zen4", "--noise", "-1"], "Invalid value for '--noise'"),
        (["worker", "--simulate", "zen4", "--count", "0", *ANYWHERE], "run 1 to 256"),
        (
            ["worker", "--simulate", "zen4", "--target", "sim-zen2-1t", *ANYWHERE],
            "has no target sim-zen2-1t; it has: sim-zen4-1t, sim-zen4-96t",
        ),
        (["worker", "--seed", "1"], "add --simulate with one of a100,"),
        (["up", "--port", "0"], "Invalid value for '--port'"),
    ],
)
def test_a_role_that_cannot_run_is_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_TOKEN", "token")
    assert run(arguments) != 0
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_worker_without_an_address_says_how_to_give_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEWRIGHT_URL")
    assert run(["worker"]) == 1
    assert "--url or TILEWRIGHT_URL" in capsys.readouterr().err


def test_the_help_of_a_worker_names_the_machines_that_can_be_simulated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["worker", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for option in ("--simulate", "--count", "--seed", "--noise", "--faults", "--latency"):
        assert option in said
    for machine in MACHINES:
        assert machine in said
