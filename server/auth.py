"""Which role may do what. Every router names one of the dependencies below."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from db.tokens import TokenRole
from server.gate import Principal
from server.problems import Problem

_MAY: dict[TokenRole, frozenset[TokenRole]] = {
    TokenRole.ADMIN: frozenset(TokenRole),
    TokenRole.SUBMIT: frozenset({TokenRole.SUBMIT, TokenRole.READ}),
    TokenRole.READ: frozenset({TokenRole.READ}),
    TokenRole.WORK: frozenset({TokenRole.WORK}),
}


class Requires:
    """A dependency: the caller's role has to include `role`. Gives the caller."""

    def __init__(self, role: TokenRole) -> None:
        self.role = role

    def __call__(self, request: Request) -> Principal:
        principal: Principal = request.state.principal
        if self.role not in _MAY[principal.role]:
            raise Problem(
                "forbidden", 403, f"this needs a token that may {self.role}; "
                f"this one has the role {principal.role}",
            )  # fmt: skip
        return principal


requires_read = Requires(TokenRole.READ)
requires_submit = Requires(TokenRole.SUBMIT)
requires_work = Requires(TokenRole.WORK)
requires_admin = Requires(TokenRole.ADMIN)

Reader = Annotated[Principal, Depends(requires_read)]
Submitter = Annotated[Principal, Depends(requires_submit)]
Admin = Annotated[Principal, Depends(requires_admin)]
WorkerToken = Annotated[Principal, Depends(requires_work)]
