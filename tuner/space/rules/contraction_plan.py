"""What is fixed in one sketch of a contraction, and the meaning of its structural knobs."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.space.knobs import Values
from tuner.space.structure import Consumer, Contraction, Operand

#: How an operand is read: as it is; packed in blocks of the tile's width, at once or one block at
#: a time under the loop over blocks; or copied whole (padding filled in).
AS_IS, BLOCKED, PANEL, WHOLE = range(4)
#: Orders of the loops outside of the tile; `others` are the spatial loops that are not tiled.
OTHERS_VECTOR_ROW, OTHERS_ROW_VECTOR, VECTOR_OTHERS_ROW = range(3)


@dataclass(frozen=True, slots=True)
class ContractionPlan:
    """One contraction with one choice of vector and row axis."""

    stage: Contraction
    vector: str
    row: str
    lanes: int
    #: consumers that are computed with it; () leaves them nests of their own
    fused: tuple[Consumer, ...]
    #: of the target
    threads: int

    def spread(self, values: Values) -> int:
        """Which loop outside of the tile threads share, counted from 1; 0 for none."""
        return self.value(values, "spread") if self.threads > 1 else 0

    def value(self, values: Values, name: str) -> int:
        """The value of this contraction's knob `name`."""
        return values[f"n{self.stage.nest}.{name}"]

    def made(self, what: str) -> str:
        """The name of something that this plan makes."""
        return f"{what}_{self.stage.nest}"

    def vector_operand(self) -> Operand:
        """The operand that is read in vectors."""
        return next(o for o in self.stage.operands if o.uses(self.vector))

    def reduction(self) -> tuple[str, ...]:
        """Reduction loops in the order in which the vector operand stores them."""
        operand = self.vector_operand()

        def place(loop: str) -> int:
            return min(operand.dims_of(loop), default=len(operand.indices))

        return tuple(sorted(self.stage.reduction, key=place))

    def others(self) -> tuple[str, ...]:
        """The spatial loops that are not tiled."""
        return tuple(s for s in self.stage.spatial if s not in (self.vector, self.row))

    def order(self) -> tuple[int, ...]:
        """Dimensions of the output with the row axis last but one and the vector axis last."""
        tile = [self.stage.dims[self.stage.spatial.index(a)] for a in (self.row, self.vector)]
        rest = [d for d in range(len(self.stage.output.shape)) if d not in tile]
        return (*rest, *tile)

    def tiled_loops(self) -> dict[str, str]:
        """The loop that is split into tiles for each spatial axis: the last consumer's."""
        loops = self.fused[-1].loops if self.fused else self.stage.spatial
        return dict(zip(self.stage.spatial, loops, strict=True))
