"""Random chains of stages: six and more nests, each reading what earlier ones made; element types
that change on the way, reductions to rows and to scalars, several outputs, results that are read
again, unit extents, guards that are never true."""

from __future__ import annotations

import random

from tuner.frontends.text import parse
from tuner.ir.nodes import Program

#: From each type, those that a stage may convert to: a float is never made an integer, which C
#: leaves undefined for NaN.
_WIDER = {
    "i8": ("i8", "i32", "u8", "f32"), "u8": ("u8", "i32", "i16", "f32"),
    "i16": ("i16", "i8", "i32", "f64"), "i32": ("i32", "i32", "i8", "i64", "f32"),
    "i64": ("i64", "i32"), "f32": ("f32", "f32", "f64"), "f64": ("f64", "f32"),
}  # fmt: skip
_LEAST, _MOST = 6, 8


class _Chain:
    """Buffers `b0`, `b1`, … of one shape, row results `r0`, …, and what fills them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.rows, self.columns = rng.randint(1, 6), rng.choice((1, 2, 3, 4, 5, 7, 8))
        self.dtype = rng.choice(("i8", "u8", "i16", "i32", "i32", "f32", "f32", "f64"))
        self.params = [f"x: {self.dtype}[{self.rows}, {self.columns}]"]
        self.params.append(f"w: {self.dtype}[{self.columns}]")
        #: element types of what `x`, `w` and the stages hold
        self.types = {"x": self.dtype, "w": self.dtype}
        self.locals: list[str] = []
        self.lines: list[str] = []
        self.last = "x"
        self.made = 0

    def stage(self, output: str = "") -> None:
        """One more nest; `output` names its result where that is a parameter."""
        before, old = self.last, self.dtype
        self.dtype = self.rng.choice(_WIDER[old])
        name = output or f"b{self.made}"
        shape = f"{self.dtype}[{self.rows}, {self.columns}]"
        if output:
            self.params.append(f"{name}: {shape}")
        else:
            self.locals.append(f"    {name} = buffer({shape})")
        self.types[name] = self.dtype
        self.lines += self._nest(name, self._read(before, "{0}, {1}"), before)
        self.last, self.made = name, self.made + 1

    def _read(self, name: str, place: str) -> str:
        """An element in the type of this stage."""
        text = f"{name}[{place.format(f'i{self.made}', f'j{self.made}')}]"
        return text if self.types[name] == self.dtype else f"{self.dtype}({text})"

    def _nest(self, name: str, value: str, before: str) -> list[str]:
        i, j = f"i{self.made}", f"j{self.made}"
        head = f"    for {i}, {j} in grid({self.rows}, {self.columns}):"
        store = f"        {name}[{i}, {j}]"
        roll = self.rng.random()
        if roll < 0.2:
            return self._by_row(name, value)
        if roll < 0.35:
            limit = self.rng.choice((1, 3, 40))
            sum_ = f"{i} + {j} >= {limit}"
            less = self.rng.choice((f"{j} < {limit}", sum_, sum_))
            return [head, f"{store} = {value}", f"        if {less}:", f"    {store} += {value}"]
        if roll < 0.5:
            shifted = self._read(before, "{0}, {1} - 1")
            return [head, f"{store} = {shifted} if {j} >= 1 else {value}"]
        other = self.rng.choice(("x", "w"))
        if self.types[other].startswith("f") and self.dtype.startswith(("i", "u")):
            other = before
        place = "{1}" if other == "w" else "{0}, {1}"
        more = self._read(other, place)
        forms = (
            f"{value} + {more}", f"{value} * {more}", f"max({value}, {more})", f"{value} - 3",
            f"min({value}, {more}) * 2",
        )  # fmt: skip
        return [head, f"{store} = {self.rng.choice(forms)}"]

    def _by_row(self, name: str, value: str) -> list[str]:
        """A reduction of each row, which is then used all over the row, in one nest or two."""
        i, j = f"i{self.made}", f"j{self.made}"
        row, k = f"r{self.made}", f"k{self.made}"
        self.locals.append(f"    {row} = buffer({self.dtype}[{self.rows}])")
        reducer = self.rng.choice(("{0} += {1}", "{0} = max({0}, {1})", "{0} = min({0}, {1})"))
        inner = value.replace(f"{j}]", f"{k}]")
        start = "0" if "+=" in reducer else inner.replace(f"{k}]", "0]")
        lines = [
            f"    for {i} in range({self.rows}):",
            f"        {row}[{i}] = {start}",
            f"        for {k} in range({self.columns}):",
            f"            {reducer.format(f'{row}[{i}]', inner)}",
        ]
        if self.rng.random() < 0.5:
            lines.append(f"    for {i}_2 in range({self.rows}):")
            i, value = f"{i}_2", value.replace(f"{i},", f"{i}_2,")
        return [
            *lines,
            f"        for {j} in range({self.columns}):",
            f"            {name}[{i}, {j}] = {value} - {row}[{i}]",
        ]

    def total(self) -> None:
        """All of the last stage in one element, a parameter."""
        self.params.append(f"s: {self.dtype}[1]")
        reducer = self.rng.choice(("s[0] += {0}", "s[0] = max(s[0], {0})"))
        start = f"{self.last}[0, 0]" if "max" in reducer else "0"
        self.lines += [
            f"    s[0] = {start}",
            f"    for p, q in grid({self.rows}, {self.columns}):",
            f"        {reducer.format(f'{self.last}[p, q]')}",
        ]


def random_chain(rng: random.Random) -> Program:
    """A chain of 6 to 8 stages to `y`, perhaps by way of an output `e`, perhaps with a sum `s`."""
    chain = _Chain(rng)
    stages = rng.randint(_LEAST, _MOST)
    again = rng.randrange(1, stages - 1) if rng.random() < 0.5 else -1
    for number in range(stages):
        chain.stage("y" if number == stages - 1 else "e" if number == again else "")
    if rng.random() < 0.5:
        chain.total()
    head = f"def chain({', '.join(chain.params)}):"
    return parse("\n".join(["", head, *chain.locals, *chain.lines, ""]))
