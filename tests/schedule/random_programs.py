"""Random programs full of what makes schedules illegal: in-place updates, shifted and folded
subscripts, accumulations, guards, several statements in one block. All integers, so exact."""

from __future__ import annotations

import random

from tuner.errors import ProgramError
from tuner.frontends.text import parse
from tuner.ir.nodes import Program

_SIDE = 9


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.loops = 0
        self.lines: list[str] = []

    def index(self, around: list[str]) -> str:
        if not around:
            return str(self.rng.randint(0, 3))
        a, b = self.rng.choice(around), self.rng.choice(around)
        forms = (a, a, a, a, f"{a} + 1", f"{a} + {b}", f"2 * {a}", f"2 * {a} + {b}", f"3 - {a}",
                 f"{a} // 2", f"{a} % 2", str(self.rng.randint(0, 3)))  # fmt: skip
        return self.rng.choice(forms)

    def access(self, name: str, around: list[str]) -> str:
        rank = 1 if name in ("t", "u") else 2
        return f"{name}[{', '.join(self.index(around) for _ in range(rank))}]"

    def value(self, around: list[str]) -> str:
        reads = [self.access(self.rng.choice("xxytuh"), around) for _ in range(2)]
        if self.rng.random() < 0.25:
            reads[0] = f"({reads[0]} if {self.index(around)} < {self.rng.randint(1, 4)} else 0)"
        return self.rng.choice((f"{reads[0]} + {reads[1]}", f"{reads[0]} - 1", reads[0], "3"))

    def statement(self, around: list[str], indent: str) -> None:
        target = self.access(self.rng.choice("yytuhh"), around)
        value = self.value(around)
        form = self.rng.choice(("{t} = {v}", "{t} = {v}", "{t} += {v}", "{t} = max({t}, {v})"))
        self.lines.append(indent + form.format(t=target, v=value))

    def reduction(self, around: list[str], indent: str) -> None:
        target = self.access(self.rng.choice("ytuh"), around)
        self.loops += 1
        var, extent = f"i{self.loops}", self.rng.randint(1, 4)
        step = self.rng.choice(("{t} += {v}", "{t} = max({t}, {v})", "{t} = min({t}, {v})"))
        self.lines.append(f"{indent}{target} = {self.rng.choice(('0', '-5', 'x[0, 1]'))}")
        self.lines.append(f"{indent}for {var} in range({extent}):")
        value = f"x[{self.index([*around, var])}, {var}] + y[{var}, {self.index(around)}]"
        value = self.rng.choice((value, self.value([*around, var])))
        self.lines.append(f"{indent}    {step.format(t=target, v=value)}")

    def block(self, around: list[str], indent: str, depth: int) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            roll = self.rng.random()
            if depth and roll < 0.45:
                self.loops += 1
                var = f"i{self.loops}"
                self.lines.append(f"{indent}for {var} in range({self.rng.randint(1, 4)}):")
                self.block([*around, var], indent + "    ", depth - 1)
            elif around and roll < 0.5 + 0.35 * (depth == 0):
                self.reduction(around, indent)
            elif around and roll < 0.85:
                test = f"{self.index(around)} < {self.rng.randint(1, 4)}"
                self.lines.append(f"{indent}if {test}:")
                self.statement(around, indent + "    ")
            else:
                self.statement(around, indent)


def _repeated(rng: random.Random, start: str, lines: list[str]) -> list[str]:
    """Producer and consumer in one loop, the producer perhaps not in every iteration."""
    guarded = start.replace("        h[p, q] =", "        if o < 1:\n            h[p, q] =")
    inner = (rng.choice((start, guarded)) + "\n".join(lines)).replace("y[a, b] =", "y[a, b] +=")
    first = "    for p0, q0 in grid(9, 9):\n        y[p0, q0] = 1\n    for o in range(2):\n"
    return [first, *("    " + line for line in inner.split("\n") if line)]


def _start_values(rng: random.Random) -> str:
    """Assignments to y, and perhaps to the intermediate buffers."""
    start = "".join(
        f"    for s{n}, r{n} in grid({_SIDE}, {_SIDE}):\n        {name} = x[r{n}, s{n}]\n"
        for n, name in enumerate(("y[s0, r0]", "h[s1, r1]"))
        if n == 0 or rng.random() < 0.5
    )
    return start + "".join(
        f"    for v{name} in range({_SIDE}):\n        {name}[v{name}] = x[v{name}, 0]\n"
        for name in "tu"
        if rng.random() < 0.5
    )


def _stages(rng: random.Random) -> tuple[str, list[str]]:
    """A producer of h and its consumer."""
    rows, columns = rng.randint(1, 5), rng.randint(1, 5)
    produce = rng.choice(("x[p, q] + x[q, p]", "x[p, q + 2] if q < 2 else x[p, 0] + 1", "p_sum"))
    start = "    for p, q in grid(7, 6):\n" + (
        "        h[p, q] = 0\n        for z in range(3):\n            h[p, q] += x[p, z]\n"
        if produce == "p_sum"
        else f"        h[p, q] = {produce}\n"
    )
    shift = rng.choice(("a, b", "a + 1, b", "b, a", "a, 0", "2, b", "a // 2, b + 1"))
    more = rng.choice(("", f" + h[{shift}]"))
    lines = [
        f"    for a, b in grid({rows}, {columns}):",
        f"        y[a, b] = h[{shift}] * 2{more}",
    ]
    if rng.random() < 0.5:
        start, *lines = _repeated(rng, start, lines)
    return start, lines


def random_program(rng: random.Random) -> Program:
    """A program that the parser accepts."""
    head = f"""
def random_program(x: i32[{_SIDE}, {_SIDE}], y: i32[{_SIDE}, {_SIDE}]):
    t = buffer(i32[{_SIDE}])
    u = buffer(i32[{_SIDE}])
    h = buffer(i32[{_SIDE}, {_SIDE}])
"""
    while True:
        writer = _Writer(rng)
        for _ in range(rng.randint(1, 3)):
            writer.loops += 1
            var = f"i{writer.loops}"
            writer.lines.append(f"    for {var} in range({rng.randint(1, 4)}):")
            writer.block([var], "        ", rng.randint(0, 2))
        start, lines = _start_values(rng), writer.lines
        if rng.random() < 0.4:
            start, lines = _stages(rng)
        try:
            return parse(head + start + "\n".join(lines) + "\n")
        except ProgramError:
            continue


def random_recurrence(rng: random.Random) -> Program:
    """Loops i, j, k in one chain over one or two statements that read near where they write."""
    lines = []
    for _ in range(rng.randint(1, 2)):
        a, b, c, d, e = (rng.randint(0, 2) for _ in range(5))
        target, source = rng.choice(
            (
                (f"y[i + {a}, j + {b}]", f"y[i + {c}, j + {d}]"),
                (f"y[i + {a}, j + {b}]", f"y[i + {c}, {3 + d} - j]"),
                (f"y[i + {a}, 2 * j]", f"y[k + {c}, 2 * j + {d}]"),
                (f"y[i + {a}, k]", f"y[i + {c}, k + {d}]"),
                (f"y[{a}, i + 2 * j]", f"y[{c}, i + 2 * j + {d}]"),
                (f"y[{a}, 3 * j + i]", f"y[{a}, 3 * j + i + {d * e}]"),
                (f"y[j // 2, k + {a}]", f"y[j // 2 + {c}, k + {b}]"),
                (f"y[{a}, k]", f"y[{c}, {d}]"),
            )
        )
        updates = ("{t} = {s} + x[i, k]", "{t} = {s} + 1", "{t} += {s}", "{t} += x[j, k]")
        lines.append("        " + rng.choice(updates).format(t=target, s=source))
    return parse(
        f"""
def recurrence(x: i32[14, 14], y: i32[14, 14]):
    for p, q in grid(14, 14):
        y[p, q] = x[q, p]
    for i, j, k in grid({rng.randint(2, 3)}, 3, {rng.randint(2, 4)}):
"""
        + "\n".join(lines)
    )
