"""Windows that slide over an input: subscripts, guards and sizes of convolutions and pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.errors import WorkloadError


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of the window. The sizes `dilation` and `pad` are 1 and 0 where missing."""

    #: extents of the input and of the window
    extent: int
    taps: int
    stride: int
    pad: int
    dilation: int
    outputs: int

    def place(self, out: str, tap: str) -> str:
        """Subscript of the input element that output `out` meets at window element `tap`."""
        strided = out if self.stride == 1 else f"{out} * {self.stride}"
        dilated = tap if self.dilation == 1 else f"{tap} * {self.dilation}"
        shift = f" - {self.pad}" if self.pad else ""
        return f"{strided} + {dilated}{shift}"


def axis(op: str, sizes: Mapping[str, int], extent: str, taps: str) -> Axis:
    """The direction of `op` whose input and window sizes are called `extent` and `taps`.

    Raises WorkloadError where the window is larger than the padded input.
    """
    stride, pad, dilation = sizes["stride"], sizes.get("pad", 0), sizes.get("dilation", 1)
    room = sizes[extent] + 2 * pad - dilation * (sizes[taps] - 1) - 1
    if room < 0:
        raise WorkloadError(
            f"{op}: a window of {taps}={sizes[taps]} (dilation {dilation}) is larger than "
            f"the padded input, {extent}={sizes[extent]} with pad={pad}"
        )
    return Axis(sizes[extent], sizes[taps], stride, pad, dilation, room // stride + 1)


def guarded(read: str, places: Sequence[tuple[Axis, str]], other: str) -> str:
    """`read` where all subscripts are inside, `other` in the padding."""
    tests = [f"0 <= {place} < {one.extent}" for one, place in places if one.pad]
    return f"({read} if {' and '.join(tests)} else {other})" if tests else read


def group_channel(op: str, sizes: Mapping[str, int]) -> str:
    """Subscript of the input channel `c` of the group of output channel `f`.

    Raises WorkloadError where the groups do not divide the channels.
    """
    c, f, groups = sizes["c"], sizes["f"], sizes["groups"]
    if c % groups or f % groups:
        raise WorkloadError(f"{op}: groups={groups} must divide both c={c} and f={f}")
    return "c" if groups == 1 else f"f // {f // groups} * {c // groups} + c"
