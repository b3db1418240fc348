"""Random program texts, legal by construction: every subscript is taken modulo its dimension.
Values are small integers in i64, so that any order of a reduction gives the same result."""

from __future__ import annotations

from random import Random

LOOPS = ("i", "j", "k")
#: Shapes of the buffers that the texts use; `t` is an intermediate one.
SHAPES = {"x": (6,), "m": (3, 5), "t": (4,), "y": (6,)}


def program_text(seed: int) -> str:
    """A whole program; `t` and `y` have their start values first."""
    return _Writer(Random(seed)).program()


class _Writer:
    def __init__(self, random: Random) -> None:
        self._random = random

    def program(self) -> str:
        types = {name: f"i64[{', '.join(map(str, shape))}]" for name, shape in SHAPES.items()}
        lines = [
            f"def f(x: {types['x']}, m: {types['m']}, y: {types['y']}):",
            f"    t = buffer({types['t']})",
            "    for a in range(4):",
            "        t[a] = 0",
            "    for a in range(6):",
            "        y[a] = 0",
        ]
        for _ in range(self._random.randint(1, 3)):
            lines.append(f"    for i in range({self._random.randint(1, 4)}):")
            lines += self._block(("i",), "        ")
        lines += ["    for i in range(4):", "        y[i] += t[i]"]
        return "\n".join(lines) + "\n"

    def _block(self, loops: tuple[str, ...], indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.randint(1, 2)):
            kind = self._random.choice(["store", "store", "for", "for", "if"])
            inner = indent + "    "
            if kind == "for" and len(loops) < len(LOOPS):
                loop = LOOPS[len(loops)]
                lines.append(f"{indent}for {loop} in range({self._random.randint(1, 4)}):")
                lines += self._block((*loops, loop), inner)
            elif kind == "if":
                lines.append(f"{indent}if {self._condition(loops)}:")
                lines += self._block(loops, inner)
            else:
                lines.append(f"{indent}{self._store(loops)}")
        return lines

    def _store(self, loops: tuple[str, ...]) -> str:
        place = self._access(self._random.choice(["t", "y"]), loops)
        value = self._value(loops, 3)
        form = self._random.choice(["=", "+=", "+=", "*=", "max", "min"])
        if form in ("max", "min"):
            return f"{place} = {form}({place}, {value})"
        return f"{place} {form} {value}"

    def _access(self, buffer: str, loops: tuple[str, ...]) -> str:
        subscripts = [self._subscript(loops, extent) for extent in SHAPES[buffer]]
        return f"{buffer}[{', '.join(subscripts)}]"

    def _subscript(self, loops: tuple[str, ...], extent: int) -> str:
        """An affine subscript that stays in 0 … extent - 1; often one that lanes can take."""
        if self._random.random() < 0.4:
            return f"{self._random.choice(loops)} % {extent}"
        factor = self._random.randint(1, 5)
        terms = [str(self._random.randint(0, 4))]
        for loop in loops:
            forms = [loop, f"{loop} * {factor}", f"{loop} // {factor}", f"({loop} + 1) % {factor}"]
            terms.append(self._random.choice(forms))
        self._random.shuffle(terms)
        return f"({' + '.join(terms)}) % {extent}"

    def _condition(self, loops: tuple[str, ...]) -> str:
        left, right = self._subscript(loops, 5), self._subscript(loops, 5)
        test = f"{left} {self._random.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"
        forms = [
            test, f"not {test}", f"{test} and 0 <= {right} < 3",
            f"({test} or {left} > 2) and {right} != 1",
        ]  # fmt: skip
        return self._random.choice(forms)

    def _value(self, loops: tuple[str, ...], depth: int) -> str:
        leaves = [
            str(self._random.randint(-3, 3)), self._access("x", loops), self._access("m", loops),
            self._random.choice(loops),
        ]  # fmt: skip
        if depth == 0 or self._random.random() < 0.3:
            return self._random.choice(leaves)
        a, b = self._value(loops, depth - 1), self._value(loops, depth - 1)
        forms = [
            f"({a} + {b})", f"{a} - ({b})", f"({a}) * ({b})", f"-({a})", f"max({a}, {b})",
            f"({a}) % 7", f"clamp({a}, -5, 9)", f"i64(i8({a}))",
            f"(({a}) if {self._condition(loops)} else {b})", f"select({a} < {b}, {a}, {b})",
            f"min({a}, {b}, 4)", f"x[clamp({self._access('x', loops)}, 0, 5)]",
        ]  # fmt: skip
        return self._random.choice(forms)
