"""Where the service is and with which token: the environment, or what `tilewright up` wrote.

TILEWRIGHT_URL     the service's address       else DIR/url
TILEWRIGHT_TOKEN   the bearer token            else DIR/admin.token
TILEWRIGHT_DATA    DIR                         else tilewright-data in the current directory
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tuner.errors import TilewrightError

URL_FILE = "url"
TOKEN_FILE = "admin.token"
DEFAULT_PORT = 8765


class ConnectionUnknown(TilewrightError):
    """Neither the environment nor a data directory says where the service is."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A service's address and the token to show it."""

    url: str
    token: str = field(repr=False)


def data_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory in which `up` keeps its state."""
    return Path(environment.get("TILEWRIGHT_DATA") or "tilewright-data")


def find(environment: Mapping[str, str] = os.environ) -> Connection:
    """The connection to use. Raises ConnectionUnknown with what to set or start."""
    folder = data_directory(environment)
    url = environment.get("TILEWRIGHT_URL") or _read(folder / URL_FILE)
    token = environment.get("TILEWRIGHT_TOKEN") or _read(folder / TOKEN_FILE)
    if not url:
        raise ConnectionUnknown(
            f"no service known: start one with `tilewright up` (it writes {folder / URL_FILE}), "
            "or set TILEWRIGHT_URL and TILEWRIGHT_TOKEN"
        )
    if not token:
        raise ConnectionUnknown(
            f"no token for {url}: set TILEWRIGHT_TOKEN, or TILEWRIGHT_DATA to the directory "
            f"that holds {TOKEN_FILE}"
        )
    return Connection(url, token)


def given(url: str | None, token: str | None) -> Connection:
    """What is given, else what `find` finds. Raises ConnectionUnknown with what to set or start."""
    if url is not None and token is not None:
        return Connection(url, token)
    known = {"TILEWRIGHT_URL": url, "TILEWRIGHT_TOKEN": token}
    return find({**os.environ, **{name: value for name, value in known.items() if value}})


def find_for_worker(url: str | None, token_file: Path | None) -> Connection:
    """A worker's connection: what is given, else the environment. Raises ConnectionUnknown."""
    url = url or os.environ.get("TILEWRIGHT_URL")
    token = _read(token_file) if token_file else os.environ.get("TILEWRIGHT_TOKEN")
    if not url:
        raise ConnectionUnknown("a worker needs the server's address: --url or TILEWRIGHT_URL")
    if not token:
        raise ConnectionUnknown(
            f"a worker needs a token: {token_file} has none"
            if token_file
            else "a worker needs a token: --token-file or TILEWRIGHT_TOKEN"
        )
    return Connection(url, token)


def _read(path: Path) -> str:
    """A one-line file's content; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConnectionUnknown(f"cannot read {path}: {error.strerror}") from error
