"""Primitives that put notes on loops: annotate, prefetch."""

from __future__ import annotations

from dataclasses import replace

from tuner.errors import ScheduleError
from tuner.ir.nodes import Program, Scope
from tuner.ir.notes import MAX_NOTES, as_prefetch, is_note, prefetch_note
from tuner.ir.visit import variables
from tuner.schedule.access import accesses_of, of_buffer
from tuner.schedule.loop_steps import Annotate, Prefetch
from tuner.schedule.nest import Place, find, find_buffer, find_serial, put

#: Most iterations that a prefetch looks ahead.
MAX_AHEAD = 1024


def annotate(program: Program, step: Annotate) -> Program:
    """Puts a remark on `loop`; it stands as a comment in the generated text.

        for i in range(64):     ->     for i in range(64, notes=('rows of x',)):
            y[i] = x[i]                    y[i] = x[i]

    Legal for every loop, up to 8 notes on each. A note has no meaning, and goes with its loop: a
    step that makes new loops of it leaves the notes behind.
    """
    if not is_note(step.note) or as_prefetch(step.note):
        raise ScheduleError(
            f"{step.note!r} cannot be a note: expected 1 to 64 letters, digits, spaces or any of "
            f"_.,:;=+-, and nothing that reads as a prefetch"
        )
    return _noted(program, find(program, step.loop), step.note)


def prefetch(program: Program, step: Prefetch) -> Program:
    """Asks for what `loop` reads of `buffer` to be fetched `ahead` iterations early.

        for i in range(64):               for i in range(64, notes=('prefetch x 8',)):
            for j in range(8):     ->         for j in range(8):
                y[i] += x[i, j]                   y[i] += x[i, j]

    Legal for a serial loop with whose iterations some read of the buffer moves, a buffer that lives
    in memory, and 1 to 1024 iterations. Each iteration begins with one prefetch for each such read,
    of the first element that the later one reads; the meaning stays.
    """
    place, buffer = find_serial(program, step.loop), find_buffer(program, step.buffer)
    if buffer.scope is Scope.LOCAL:
        raise ScheduleError(f"{step.buffer!r} is local: it is in registers or in the cache already")
    if not 1 <= step.ahead <= MAX_AHEAD:
        raise ScheduleError(f"ahead must be between 1 and {MAX_AHEAD}; found {step.ahead}")
    reads = [a for a in of_buffer(accesses_of(place.loop), step.buffer) if a.mode == "read"]
    if not any(step.loop in variables(index) for read in reads for index in read.indices):
        raise ScheduleError(
            f"no read of {step.buffer!r} moves with {step.loop!r}: there is nothing to fetch early"
        )
    return _noted(program, place, prefetch_note(step.buffer, step.ahead))


def _noted(program: Program, place: Place, note: str) -> Program:
    notes = place.loop.notes
    if note in notes or len(notes) == MAX_NOTES:
        raise ScheduleError(
            f"{place.loop.var!r} has the notes {', '.join(map(repr, notes))}; expected another "
            f"one, and at most {MAX_NOTES}"
        )
    return put(program, place, (replace(place.loop, notes=(*notes, note)),))
