"""A PostgreSQL of the tests' own: a temporary cluster on a socket, and databases on it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import make_url

import db
from db.schema import Base

#: Debian keeps each version's programs off PATH.
_DEBIAN = "/usr/lib/postgresql"
#: Who runs it where the tests are run by root, whom PostgreSQL refuses.
_USER = "nobody"
_ACCOUNT = "tilewright"


def find_programs() -> Path | None:
    """Where initdb and postgres are; the newest version of them."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = sorted(Path(_DEBIAN).glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    return found[-1].parent if found else None


class Cluster:
    """A running PostgreSQL. What the machine loses in a power cut does not matter to a test, so
    it does not wait for the disk unless `durable`."""

    def __init__(self, programs: Path, folder: Path, durable: bool = False) -> None:
        self._programs, self._folder, self._durable = programs, folder, durable
        self._user = _USER if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self._free: list[str] = []
        if self._user:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", self._data, "-U", _ACCOUNT, "-A", "trust", "-E", "UTF8",
                  "--locale=C", "--no-sync")  # fmt: skip

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments], user=self._user, cwd=self._folder, check=True,
            capture_output=True,
        )  # fmt: skip

    def url(self, name: str) -> str:
        return f"postgresql://{_ACCOUNT}@/{name}?host={self._folder}"

    def start(self) -> None:
        settings = {
            "listen_addresses": "", "unix_socket_directories": self._folder,
            "max_connections": 200, "shared_buffers": "64MB",
            "fsync": "on" if self._durable else "off",
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *options],
                user=self._user, cwd=self._folder, stdout=log, stderr=log,
            )  # fmt: skip
        until = time.monotonic() + 30
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "log").read_text()
            assert time.monotonic() < until, "PostgreSQL does not answer"
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            self._engine("postgres").connect().close()
        except sa.exc.OperationalError:
            return False
        return True

    def stop(self, number: int = signal.SIGQUIT) -> None:
        """Ends it at once, without a last checkpoint, or by another signal."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def create(self) -> str:
        """The URL of a new database without a schema."""
        name = f"t{uuid.uuid4().hex[:12]}"
        engine = self._engine("postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.url(name)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a database with this version's schema and nothing in it, until the end."""
        if self._free:
            url = self._free.pop()
        else:
            url = self.create()
            db.migrate(url)
        try:
            yield url
        finally:
            self._empty(url)
            self._free.append(url)

    def _empty(self, url: str) -> None:
        # Faster than TRUNCATE or another database by far: 4, 170 and 500 ms.
        with self._engine(make_url(url).database or "").begin() as connection:
            connection.exec_driver_sql("SET lock_timeout = '5s'")
            for table in reversed(Base.metadata.sorted_tables):
                connection.execute(table.delete())
            connection.exec_driver_sql(
                "SELECT setval(sequencename::regclass, 1, false) FROM pg_sequences"
            )

    def _engine(self, name: str, **options: Any) -> sa.Engine:
        url = make_url(self.url(name)).set(drivername="postgresql+psycopg")
        return sa.create_engine(url, poolclass=sa.NullPool, **options)


@contextmanager
def running_cluster(programs: Path, durable: bool = False) -> Iterator[Cluster]:
    """A Cluster in a folder of its own, gone at the end."""
    # Not below pytest's folders: the path of a socket has to be short, and open to its user.
    folder = Path(tempfile.mkdtemp(prefix="tw-pg-"))
    cluster = None
    try:
        cluster = Cluster(programs, folder, durable)
        cluster.start()
        yield cluster
    finally:
        if cluster is not None:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
