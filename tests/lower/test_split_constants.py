"""What is done ahead, and what has to stay."""

import pytest

from tests.codegen.native import inputs_for
from tuner.frontends.text import parse
from tuner.ir.interp import run
from tuner.ir.nodes import Program
from tuner.ir.show import show_body
from tuner.lower.split_constants import split_constants

_HEAD = "def f(x: f32[4], w: const[f32[4]], v: const[f32[4]], y: f32[4]):\n"
_PACK = "for i in range(4):\n    p[i] = w[i] * 2.0\n"
_USE = "for j in range(4):\n    y[j] = x[j] + p[j]\n"


def _program(body: str, buffers: str = "p", head: str = _HEAD) -> Program:
    lines = [f"{name} = buffer(f32[4])" for name in buffers.split()] + body.splitlines()
    return parse(head + "".join(f"    {line}\n" for line in lines))


def _check_meaning(program: Program) -> None:
    split, inputs = split_constants(program), inputs_for(program)
    made = {} if split.ahead is None else run(split.ahead, inputs)
    found, wanted = run(split.main, {**inputs, **made}), run(program, inputs)
    assert found.keys() == wanted.keys()
    assert all((found[name] == wanted[name]).all() for name in wanted)


def test_a_pack_of_a_constant_is_done_ahead() -> None:
    program = _program(_PACK + _USE)
    split = split_constants(program)
    assert split.ahead is not None
    assert show_body(split.ahead.body) == _PACK.strip()
    assert show_body(split.main.body) == _USE.strip()
    assert [b.name for b in split.ahead.params] == ["w", "v", "p"]
    assert [b.name for b in split.main.params] == ["x", "w", "v", "y", "p"]
    assert split.main.locals == ()
    _check_meaning(program)


def test_what_only_leads_to_it_is_not_handed_over() -> None:
    program = _program(
        "for a in range(4):\n    q[a] = exp(v[a])\nfor i in range(4):\n    p[i] = q[i] + w[i]\n"
        + _USE,
        "q p",
    )
    split = split_constants(program)
    assert split.ahead is not None
    assert [b.name for b in split.ahead.locals] == ["q"]
    assert [b.name for b in split.ahead.params] == ["w", "v", "p"]
    assert len(split.main.body) == 1
    _check_meaning(program)


STAYS = {
    "reads an input": _program("for i in range(4):\n    p[i] = w[i] * x[i]\n" + _USE),
    "is of no constant": _program(_PACK + _USE, head=_HEAD.replace("const[f32[4]]", "f32[4]")),
    "writes an output": _program("for i in range(4):\n    y[i] = w[i]\n", ""),
    "is written by what stays": _program(
        _PACK + "for a in range(4):\n    p[a] += x[a]\n" + _USE
    ),
    "is made again after it was read": _program(
        _PACK + _USE + "for a in range(4):\n    p[a] = v[a]\nfor b in range(4):\n    y[b] += p[b]\n"
    ),
    "reads what stays": _program(
        "for a in range(4):\n    q[a] = x[a]\nfor i in range(4):\n    p[i] = w[i] + q[i]\n" + _USE,
        "q p",
    ),
    "is inside of a loop": _program(
        "for j in range(4):\n    for i in range(4):\n        p[i] = w[i]\n    y[j] = x[j] + p[j]\n"
    ),
    "is in registers": parse(
        _HEAD + '    p = buffer(f32[4], "local")\n'
        + "".join(f"    {line}\n" for line in (_PACK + _USE).splitlines())
    ),
    "depends on where an input says": _program(
        "for i in range(4):\n    p[i] = w[clamp(n[i], 0, 3)]\n" + _USE,
        head=_HEAD.replace("x: f32[4]", "x: f32[4], n: i64[4]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_what_has_to_stay_stays(name: str) -> None:
    split = split_constants(STAYS[name])
    assert split.ahead is None
    assert split.main is STAYS[name]
