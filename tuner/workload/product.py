"""Element types of contractions: what is multiplied, and what the products are summed in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """The types of one contraction, `total += left * right`."""

    left: str
    right: str
    #: of the sum, and of the output
    total: str

    def of(self, a: str, b: str) -> str:
        """The text of a product of an element of the left and one of the right operand."""
        return f"{self._widened(a, self.left)} * {self._widened(b, self.right)}"

    def _widened(self, text: str, dtype: str) -> str:
        return text if dtype == self.total else f"{self.total}({text})"


#: By the name that a dtype is asked for by; narrow types are widened before they are multiplied.
PRODUCTS: dict[str, Product] = {
    **{name: Product(name, name, name) for name in ("f32", "f64", "i32")},
    "i8": Product("i8", "i8", "i32"),
    "u8": Product("u8", "i8", "i32"),
    "bf16": Product("bf16", "bf16", "f32"),
}
CONTRACTION_DTYPES = tuple(PRODUCTS)
