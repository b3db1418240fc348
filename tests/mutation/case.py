"""A case of a switched-off check: a program, a step, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tuner.frontends.text import parse
from tuner.ir.nodes import For, Program
from tuner.ir.visit import with_body
from tuner.schedule.steps import Step

_HEAD = """
def f(v: i32[4], x: i32[4, 4], y: i32[4], z: i32[4, 4], w: i32[6]):
    h = buffer(i32[4]{local})
    g = buffer(i32[4])
    m = buffer(i32[4, 4])
    n = buffer(i32[6])
    for s_ in range(6):
        w[s_] = 1
    for p_ in range(4):
        y[p_] = v[p_]
    for q_ in range(4):
        for r_ in range(4):
            z[q_, r_] = x[q_, r_]
"""


@dataclass(frozen=True, slots=True)
class Case:
    """`body` reads `v` and `x`, and changes `y` and `z` by way of `h`, `g` and `m`."""

    body: str
    step: Step
    #: as `tests.mutation.judged.outcome`
    becomes: str
    #: whether the two statements in the last loop change places, as the parser would not have it
    turned: bool = False

    def program(self) -> Program:
        """With `h` local where a loop is for threads."""
        spread = "parallel(" in self.body
        program = parse(_HEAD.format(local=', "local"' if spread else "") + self.body)
        if not self.turned:
            return program
        *before, last = program.body
        assert isinstance(last, For)
        return replace(program, body=(*before, with_body(last, last.body[::-1])))
