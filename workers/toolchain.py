"""The C compiler of this machine, and the worker's own small C programs, built once."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.errors import NoCompiler, WorkerError

HERE = Path(__file__).parent
#: Looked for on PATH, in this order.
COMPILERS = ("gcc", "clang", "cc")
#: Seconds that one of the worker's own programs may take to build.
OWN_BUILD_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler. `version` is what records carry, like `gcc 12.2.0`."""

    path: str
    version: str


def find_compiler() -> Compiler:
    """gcc, else clang, else cc, whichever PATH has. Raises NoCompiler with what to install."""
    for name in COMPILERS:
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=30
        ).stdout.partition("\n")[0]
        number = re.search(r"\d+\.\d+(\.\d+)?", re.sub(r"\(.*?\)", "", said))
        kind = "clang" if "clang" in said else "gcc"
        return Compiler(path, f"{kind} {number.group() if number else 'unknown'}")
    raise NoCompiler(
        "no C compiler on PATH (looked for gcc, clang, cc); install one, "
        "on Debian or Ubuntu: apt-get install gcc libc6-dev"
    )


def cache_dir() -> Path:
    """The user's own folder for built programs and the host-wide lock; made if missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "tilewright"
    path.mkdir(parents=True, exist_ok=True)
    return path


def own_program(
    compiler: Compiler, sources: Sequence[str], flags: Sequence[str], cache: Path
) -> Path:
    """Path of the program made of this package's `sources` (the first is compiled, the others are
    what it includes). Built once for each content, compiler and flags.

    Raises WorkerError with the compiler's words.
    """
    key = hashlib.sha256("\0".join((compiler.path, compiler.version, *flags)).encode())
    for name in sources:
        key.update((HERE / name).read_bytes())
    path = cache / f"{Path(sources[0]).stem}-{key.hexdigest()[:16]}"
    if path.exists():
        return path
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as made_in:
        made = Path(made_in) / path.name
        command = [compiler.path, "-O2", "-o", str(made), str(HERE / sources[0]), *flags]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=OWN_BUILD_LIMIT_S
        )
        if done.returncode:
            raise WorkerError(
                f"{compiler.version} cannot build {sources[0]}; are the C library's headers "
                f"installed (libc6-dev)? It said:\n{done.stderr[-2000:]}"
            )
        made.replace(path)  # atomic: another worker may be doing the same
    return path


def runner(compiler: Compiler, cache: Path) -> Path:
    """The program that checks and times one candidate."""
    sources = ("runner.c", "sandbox.h", "report.h", "buffers.h")
    return own_program(compiler, sources, ("-ldl", "-lm"), cache)
