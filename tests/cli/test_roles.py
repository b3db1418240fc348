import pytest

from tilewright.cli import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["server", "--host", "0.0.0.0"], "is not the loopback"),
        (["tuner"], "start `tilewright server` on it first"),
        (["worker", "--url", "http://service.test", "--token-file", "none"], "none has none"),
        (["up", "--port", "0"], "Invalid value for '--port'"),
    ],
)
def test_a_role_that_cannot_run_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
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
