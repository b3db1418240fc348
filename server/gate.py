"""What every request passes first: host, size and token. Whatever is not named open is closed."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from db import tokens
from db.engine import Database
from db.errors import DatabaseUnavailable
from db.tokens import TokenRole
from server import problems
from server.problems import Problem

#: Paths that need no token: a supervisor has none, and they tell nothing.
OPEN = frozenset({"/healthz", "/readyz"})
#: Paths whose handlers read a body piece by piece, and keep no more of it than they need.
STREAMED = frozenset({"/v1/records/import"})


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    #: id of the token
    token: str
    role: TokenRole


class Gate:
    """ASGI middleware. A request that passes has `scope["state"]["principal"]`, unless its path
    is open."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], max_body_bytes: int) -> None:
        self._app, self._hosts, self._max_body_bytes = app, hosts, max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._admit(scope)
        except Problem as problem:
            headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else None
            await problem.response(headers)(scope, receive, send)
            return
        except DatabaseUnavailable as error:
            await problems.unavailable(error)(scope, receive, send)
            return
        if scope["path"] not in STREAMED:
            receive = self._limited(receive)
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = _without_port(headers.get("host", ""))
        if host not in self._hosts:
            # Else a web page could reach a server on the loopback under a name of its own.
            raise Problem("unknown-host", 400, f"this server is not addressed as {host!r}")
        length = headers.get("content-length", "0")
        streamed = scope["path"] in STREAMED
        if not length.isdecimal() or (int(length) > self._max_body_bytes and not streamed):
            raise _too_large(self._max_body_bytes)
        if scope["path"] in OPEN:
            return
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Problem("unauthorized", 401, "send the header Authorization: Bearer TOKEN")
        database: Database = scope["app"].state.service.database
        principal = await run_in_threadpool(_find, database, secret)
        if principal is None:
            raise Problem("unauthorized", 401, "there is no such token")
        scope.setdefault("state", {})["principal"] = principal

    def _limited(self, receive: Receive) -> Receive:
        """`receive`, which counts: a chunked body does not say its length beforehand."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body_bytes:
                raise HTTPException(413, _too_large(self._max_body_bytes).detail)
            return message

        return counted


def _too_large(limit: int) -> Problem:
    return Problem("content-too-large", 413, f"the body may have {limit} bytes at most")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _find(database: Database, secret: str) -> Principal | None:
    with database.read() as session:
        row = tokens.find(session, secret)
        return None if row is None else Principal(row.id, TokenRole(row.role))
