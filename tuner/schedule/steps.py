"""The steps of a schedule, as data: one frozen dataclass for each primitive.

A schedule is a tuple of steps. Loops and buffers are addressed by name; a step that makes new
ones names them. `apply.py` gives steps their meaning; the rewrites' docstrings show it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tuner.errors import ScheduleError
from tuner.ir.words import RESERVED
from tuner.schedule.loop_steps import (
    AddUnitLoop,
    Annotate,
    Bind,
    Fuse,
    Parallel,
    Partition,
    Prefetch,
)
from tuner.schedule.memory_steps import (
    CacheRead,
    Inline,
    Pad,
    ReverseComputeAt,
    ReverseInline,
    SetScope,
    TransformLayout,
)

#: Version of the JSON form; raised whenever an old schedule would be read differently.
VERSION = 1
#: Most steps in one schedule that is read from JSON.
MAX_STEPS = 512
#: Most entries in one tuple of a step.
MAX_ENTRIES = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True, slots=True)
class Split:
    """One loop becomes two: `outer` over tiles of `factor`, `inner` within a tile."""

    loop: str
    factor: int
    outer: str
    inner: str


@dataclass(frozen=True, slots=True)
class Tile:
    """Each of a chain of loops is split; all outer loops come first, then all inner ones."""

    loops: tuple[str, ...]
    factors: tuple[int, ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reorder:
    """Loops of one chain take each other's places so that they stand in this order."""

    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unroll:
    """The loop is written out."""

    loop: str


@dataclass(frozen=True, slots=True)
class Vectorize:
    """The loop's iterations become lanes."""

    loop: str


@dataclass(frozen=True, slots=True)
class CacheWrite:
    """The tile of `buffer` that the body of `loop` touches is held in the local `cache`."""

    buffer: str
    loop: str
    cache: str
    #: dimension of `buffer` behind each dimension of the cache; () keeps the buffer's order
    order: tuple[int, ...]
    #: one per dimension of the buffer; () where no load nest is needed
    load_loops: tuple[str, ...]
    #: one per dimension of the buffer
    store_loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """What is read of `buffer` is first copied into `packed`, laid out as `layout` says."""

    buffer: str
    packed: str
    #: the copy is made at the start of this loop's body; "": before the first nest that reads
    loop: str
    #: one text per axis of `packed`: "d", "d//factor" or "d%factor" of the buffer's dimension d
    layout: tuple[str, ...]
    #: loops of the copy, one per axis of `packed`
    loops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputeAt:
    """`buffer` is computed inside `loop`, as far as one iteration of it needs."""

    buffer: str
    loop: str
    #: dimension of the old `buffer` behind each dimension of the new; () keeps the order
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DecomposeReduction:
    """The start value of the reduction into `buffer` moves into a nest of its own before `loop`."""

    buffer: str
    loop: str
    #: loops of the new nest: one for `loop` and one for each loop between it and the start value
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rfactor:
    """Each iteration of the reduction loop accumulates into its own element of `cache`."""

    loop: str
    cache: str
    init_loop: str
    final_loop: str


Step = (
    Split
    | Tile
    | Reorder
    | Unroll
    | Vectorize
    | Parallel
    | Fuse
    | Partition
    | AddUnitLoop
    | Annotate
    | Prefetch
    | Bind
    | CacheWrite
    | Pack
    | ComputeAt
    | DecomposeReduction
    | Rfactor
    | ReverseComputeAt
    | Inline
    | ReverseInline
    | CacheRead
    | SetScope
    | TransformLayout
    | Pad
)
Schedule = tuple[Step, ...]

#: Name of each step in texts and in JSON.
STEPS: dict[str, type[Step]] = {
    "split": Split,
    "tile": Tile,
    "reorder": Reorder,
    "unroll": Unroll,
    "vectorize": Vectorize,
    "parallel": Parallel,
    "fuse": Fuse,
    "partition": Partition,
    "add_unit_loop": AddUnitLoop,
    "annotate": Annotate,
    "prefetch": Prefetch,
    "bind": Bind,
    "cache_write": CacheWrite,
    "pack": Pack,
    "compute_at": ComputeAt,
    "decompose_reduction": DecomposeReduction,
    "rfactor": Rfactor,
    "reverse_compute_at": ReverseComputeAt,
    "inline": Inline,
    "reverse_inline": ReverseInline,
    "cache_read": CacheRead,
    "set_scope": SetScope,
    "transform_layout": TransformLayout,
    "pad": Pad,
}
_NAMES: dict[type[Step], str] = {kind: name for name, kind in STEPS.items()}


def step_name(step: Step) -> str:
    """The step's name in texts and in JSON."""
    return _NAMES[type(step)]


def step_text(step: Step) -> str:
    """The step as a call: split(loop='l0', factor=14, outer='i0', inner='i1')."""
    shown = ", ".join(f"{f.name}={getattr(step, f.name)!r}" for f in fields(step))
    return f"{step_name(step)}({shown})"


def schedule_to_json(steps: Schedule) -> dict[str, Any]:
    """{"version": 1, "steps": [{"step": "split", "loop": …}, …]}, ready for `json.dumps`."""
    return {"version": VERSION, "steps": [_step_to_json(s) for s in steps]}


def schedule_from_json(data: object) -> Schedule:
    """The inverse of `schedule_to_json`. Raises ScheduleError on any other form."""
    if not isinstance(data, Mapping) or data.get("version") != VERSION:
        raise ScheduleError(f'expected a schedule of the form {{"version": {VERSION}, "steps": …}}')
    steps = data.get("steps")
    if not isinstance(steps, list) or len(steps) > MAX_STEPS:
        raise ScheduleError(f'"steps" must be a list of at most {MAX_STEPS} steps')
    return tuple(_step_from_json(position, step) for position, step in enumerate(steps))


def is_name(text: object) -> bool:
    """Whether `text` can name a loop or a buffer, in a program that stays readable as text."""
    return (
        isinstance(text, str)
        and _NAME.fullmatch(text) is not None
        and not keyword.iskeyword(text)
        and text not in RESERVED
    )


def _step_to_json(step: Step) -> dict[str, Any]:
    out: dict[str, Any] = {"step": step_name(step)}
    for field in fields(step):
        value = getattr(step, field.name)
        out[field.name] = list(value) if isinstance(value, tuple) else value
    return out


def _step_from_json(position: int, data: object) -> Step:
    where = f"step {position + 1}"
    if not isinstance(data, Mapping):
        raise ScheduleError(f"{where}: expected an object, found {type(data).__name__}")
    kind = STEPS.get(data["step"]) if isinstance(data.get("step"), str) else None
    if kind is None:
        raise ScheduleError(
            f"{where}: unknown step {data.get('step')!r:.80}; there are: {', '.join(STEPS)}"
        )
    expected = {f.name: str(f.type) for f in fields(kind)}
    given = {k: v for k, v in data.items() if k != "step"}
    if set(given) != set(expected):
        found = ", ".join(f"{name!s:.40}" for name in given)
        raise ScheduleError(f"{where}: {data['step']} takes {', '.join(expected)}; found {found}")
    return kind(**{n: _field(f"{where}: {n}", t, given[n]) for n, t in expected.items()})


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 64


#: How each declared field type is checked.
_SCALARS: dict[str, Callable[[object], bool]] = {"int": _is_int, "str": _is_text}
_TUPLES: dict[str, Callable[[object], bool]] = {
    "tuple[int, ...]": _is_int,
    "tuple[str, ...]": _is_text,
}


def _field(where: str, declared: str, value: object) -> Any:
    if declared in _SCALARS and _SCALARS[declared](value):
        return value
    if (
        declared in _TUPLES
        and isinstance(value, list)
        and len(value) <= MAX_ENTRIES
        and all(_TUPLES[declared](v) for v in value)
    ):
        return tuple(value)
    raise ScheduleError(f"{where}: expected {declared}, found {value!r:.80}")
