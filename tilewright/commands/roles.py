"""`tilewright up`, `server`, `tuner` and `worker`: the processes of the service.

What a role needs is imported when it runs: a worker's machine has no server packages.
"""

from __future__ import annotations

import contextlib
import logging
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tilewright import connection
from tilewright.commands import simulated
from tilewright.supervisor import end_with_supervisor
from tuner.errors import TilewrightError
from tuner.model.machine import machine

Data = Annotated[
    Path | None,
    typer.Option(help="The data directory; TILEWRIGHT_DATA or ./tilewright-data if omitted."),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="TILEWRIGHT_DATABASE",
        help="postgresql://USER@HOST/NAME or sqlite:///PATH; the one in the data directory if "
        "omitted. A password belongs into the variable, or where libpq looks for it.",
    ),
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="TCP port of the server.")]


class RoleError(TilewrightError):
    """A role cannot run here."""


def up(port: Port = connection.DEFAULT_PORT, data: Data = None) -> None:
    """Run server, tuner and worker on this machine, on SQLite, until Ctrl-C."""
    with needing("server,tuner"):
        from tilewright.up import run
    raise typer.Exit(run(data or connection.data_directory(), port))


def server(  # noqa: PLR0913 - one argument for each option
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = connection.DEFAULT_PORT,
    data: Data = None,
    database: DatabaseUrl = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Allow a host other than the loopback.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name by which clients address the server.")
    ] = None,
    worker_token: Annotated[
        Path | None, typer.Option(help="Where to leave the workers' token; in DATA if omitted.")
    ] = None,
) -> None:
    """Run the REST server. Migrates the database first and leaves the tokens in files."""
    _begin()
    with needing("server"):
        from server.app import run
        from server.settings import Settings
        from tilewright.deployment import checked_url, prepare
    folder = data or connection.data_directory()
    try:
        settings = Settings(
            database_url=checked_url(database, folder),
            host=host,
            port=port,
            allow_remote=allow_remote,
            allowed_hosts=("127.0.0.1", "localhost", "::1", *(allow_host or ())),
        )
    except ValueError as error:
        raise RoleError(f"{error} (--allow-remote)") from error
    prepare(folder, worker_token, database)
    run(settings)


def tuner(data: Data = None, database: DatabaseUrl = None) -> None:
    """Run the tuner: it leases jobs from the database and searches."""
    _begin()
    with needing("tuner"):
        from server.services.tuner import run
        from server.settings import Settings
        from tilewright.deployment import checked_url, database_path
    folder = data or connection.data_directory()
    if database is None and not database_path(folder).exists():
        raise RoleError(f"no database in {folder}: start `tilewright server` on it first")
    raise typer.Exit(run(Settings(database_url=checked_url(database, folder))))


def worker(  # noqa: PLR0913 - one argument for each option
    *,
    url: Annotated[str | None, typer.Option(help="The server; TILEWRIGHT_URL if omitted.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token; TILEWRIGHT_TOKEN if omitted.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name to show.")] = platform.node() or "worker",
    target: Annotated[
        list[str] | None, typer.Option(help="Serve only this target of the machine's; repeatable.")
    ] = None,
    simulate: simulated.Name = None,
    count: simulated.Count = 1,
    seed: simulated.Seed = 0,
    noise: simulated.Noise = 0.0,
    faults: simulated.FaultShares = "",
    latency: simulated.Latency = 0.0,
) -> None:
    """Run a worker: it measures candidates on this machine, for which it needs a C compiler, or
    simulates machines with --simulate."""
    _begin()
    targets = tuple(target or ())
    wanted = simulated.asked(simulate, count, seed, noise, faults, latency)
    if wanted is not None:
        raise typer.Exit(_simulate(wanted, url, token_file, name, targets))
    from workers.agent import Options, run

    here = connection.find_for_worker(url, token_file)
    raise typer.Exit(run(here.url, here.token, name, Options(targets=targets)))


def _simulate(
    wanted: simulated.Asked,
    url: str | None,
    token_file: Path | None,
    name: str,
    targets: tuple[str, ...],
) -> int:
    from workers.simulate.device import Device
    from workers.simulate.faults import read_faults
    from workers.simulate.worker import Fleet, run

    device = Device(
        machine=machine(wanted.name), seed=wanted.seed, noise=wanted.noise,
        faults=read_faults(wanted.faults), latency=wanted.latency,
    )  # fmt: skip
    here = connection.find_for_worker(url, token_file)
    return run(here.url, here.token, name, Fleet(device, wanted.count, targets))


def _begin() -> None:
    """What every role does first: log to stderr, end with its supervisor."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for chatty in ("alembic", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    end_with_supervisor()


@contextlib.contextmanager
def needing(extra: str) -> Iterator[None]:
    """Say which extra to install where a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise RoleError(
            f"{error.name} is not installed: pip install 'tilewright[{extra}]'"
        ) from error
