"""Errors as RFC 9457 problem documents; each `type` below is stable.

    invalid-request    422  a field is missing or wrong; `errors` has a pointer to each
    program-refused    422  `line` and `column` say where
    unknown-workload   422  no such operator, or sizes that it cannot have
    unknown-target     422
    not-found          404
    stale-lease        409  the worker does not hold this any more
    conflict           409  the same idempotency key with another request
    other-generator    426  the worker has another version than this server
    internal-error     500
    not-ready          503  see the detail; also while the database does not answer: nothing was
                            done, try it again

All others are named after their HTTP status.
"""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from db.errors import DatabaseUnavailable
from tuner.errors import (
    Conflict,
    NotFound,
    ProgramError,
    TargetError,
    TilewrightError,
    WorkloadError,
)

_log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
_KINDS: tuple[tuple[type[TilewrightError], str, int], ...] = (
    (ProgramError, "program-refused", 422),
    (WorkloadError, "unknown-workload", 422),
    (TargetError, "unknown-target", 422),
    (NotFound, "not-found", 404),
    (Conflict, "conflict", 409),
)


class Problem(Exception):
    """An answer that is an error; `extra` are further members of the document."""

    def __init__(self, kind: str, status: int, detail: str, **extra: Any) -> None:
        self.kind, self.status, self.detail, self.extra = kind, status, detail, extra
        super().__init__(f"{kind}: {detail}")

    def response(self, headers: dict[str, str] | None = None) -> Response:
        body = {
            "type": self.kind,
            "title": self.kind.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
            **self.extra,
        }
        text = json.dumps(body, ensure_ascii=True)
        return Response(text, self.status, headers, media_type=MEDIA_TYPE)


def problem_of(error: TilewrightError, **extra: Any) -> Problem:
    """The problem that tells `error`; one that is not the caller's doing is raised as it is."""
    for type_, kind, status in _KINDS:
        if isinstance(error, type_):
            if isinstance(error, ProgramError):
                extra |= {"line": error.line, "column": error.column}
            return Problem(kind, status, str(error), **extra)
    raise error


def install(app: FastAPI) -> None:
    """Makes every error of `app` a problem document."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(TilewrightError, _refusal)
    app.add_exception_handler(DatabaseUnavailable, _unavailable)
    app.add_exception_handler(DataError, _unkeepable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _internal)


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, TilewrightError)
    try:
        return problem_of(error).response()
    except TilewrightError:
        _log.exception("%s %s", request.method, request.url.path)
        return await _internal(request, error)


async def _unavailable(_request: Request, error: Exception) -> Response:
    return unavailable(error)


def unavailable(error: Exception) -> Response:
    """The answer while the database does not answer; what is wrong is for the log alone."""
    _log.warning("%s", error)
    problem = Problem("not-ready", 503, "the database does not answer; try it again")
    return problem.response({"Retry-After": "1"})


async def _unkeepable(_request: Request, _error: Exception) -> Response:
    detail = "a text holds a NUL character, or a number is too large, for the database"
    return Problem("invalid-request", 422, detail).response()


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        {"pointer": "".join(f"/{part}" for part in item["loc"]), "detail": item["msg"]}
        for item in error.errors()
    ]
    detail = "; ".join(f"{item['pointer']}: {item['detail']}" for item in found)
    return Problem("invalid-request", 422, detail, errors=found).response()


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
    headers = dict(error.headers) if error.headers else None
    return Problem(phrase, error.status_code, str(error.detail)).response(headers)


async def _internal(_request: Request, _error: Exception) -> Response:
    # What went wrong is in the server's log: it may tell more than a caller should know.
    return Problem("internal-error", 500, "this is a defect; the server's log has it").response()
