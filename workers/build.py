"""Compiles candidates: many as one translation unit, each alone where that fails."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.codegen.source import Source
from workers.sandbox import Ended, run_bounded
from workers.toolchain import Compiler

#: Beside what a source asks for: a loadable library that brings nothing of its own. Its calls to
#: memcpy and the like are bound to the C library of the runner.
LIBRARY_FLAGS = (
    "-shared", "-fPIC", "-nostdlib", "-fno-asynchronous-unwind-tables", "-fno-ident", "-g0",
)  # fmt: skip
#: Wall-clock seconds for one compiler run, and for each source in it beyond the first.
LIMIT_S, LIMIT_EACH_S = 20.0, 5.0
#: What is kept of a compiler's complaint.
DETAIL_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Built:
    """A candidate ready to run, or the reason why it is not."""

    name: str
    source_sha256: str
    workspace_bytes: int
    flags: str
    compiler: str
    #: of the target
    threads: int
    #: absolute path of the library that exports `name`; shared with others. "" where it failed
    library: str
    #: the compiler's words; empty where it succeeded
    error: str
    #: this candidate's share of the compiler's time, seconds
    build_s: float
    #: the source's language, which decides about the runner
    language: str = "c"
    #: 0 where nothing is made ahead of calls
    prepared_bytes: int = 0


def build(sources: Sequence[Source], compiler: Compiler, folder: Path) -> list[Built]:
    """Compile `sources` into libraries in `folder`; the results come in the sources' order.

    Sources with the same flags share one translation unit, since their file-level names never
    meet. If the compiler refuses it, each of them is compiled alone.
    """
    built: dict[str, Built] = {}
    unique = list({source.name: source for source in sources}.values())
    for _, group in itertools.groupby(sorted(unique, key=_flags), key=_flags):
        for one in _build_unit(tuple(group), compiler, folder):
            built[one.name] = one
    return [built[source.name] for source in sources]


def _flags(source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return source.flags, source.libs


def _build_unit(unit: Sequence[Source], compiler: Compiler, folder: Path) -> list[Built]:
    path = (folder / f"{unit[0].name}-{len(unit)}.c").absolute()
    library = path.with_suffix(".so")
    path.write_text("\n".join(source.text for source in unit))
    start = time.perf_counter()
    argv = [compiler.path, *unit[0].flags, *LIBRARY_FLAGS, "-o", str(library), str(path)]
    ended = run_bounded(
        [*argv, *unit[0].libs, "-lgcc"], LIMIT_S + LIMIT_EACH_S * (len(unit) - 1), folder=folder
    )
    spent = (time.perf_counter() - start) / len(unit)
    path.unlink()
    if ended.status and len(unit) > 1:
        return [one for source in unit for one in _build_unit((source,), compiler, folder)]
    error = _error(ended) if ended.status else ""
    return [
        Built(
            name=source.name, source_sha256=source.sha256, workspace_bytes=source.workspace_bytes,
            threads=source.threads,
            flags=" ".join(source.flags), compiler=compiler.version,
            library="" if error else str(library), error=error, build_s=spent,
            prepared_bytes=source.prepared_bytes,
        )
        for source in unit
    ]  # fmt: skip


def _error(ended: Ended) -> str:
    if ended.timed_out:
        return "the compiler did not end in time"
    return ended.err[:DETAIL_CHARS] or f"the compiler ended with status {ended.status}"
