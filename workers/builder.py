"""The process that makes kernels: reads requests as JSON lines, answers each with one line.

    {"op": "prepare", "program": text, "folder": path}      -> {"checks": CheckSet}
    {"op": "build", "program": text, "target": name, "items": [steps], "folder": path}
                                                            -> {"items": [Built or Refused]}

Each also has "generator", the worker's. An answer {"error": text, "refused": bool} says that the
request as a whole could not be met, and whether the program is to blame. The process ends with its
standard input, so it does not outlive the worker. It runs on the cores that timing leaves free, or
on the timing core at idle priority: then it gets only what a timed run leaves over.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tuner.codegen.kernel import GENERATOR, generate, generate_wide
from tuner.codegen.source import Source
from tuner.errors import TilewrightError
from tuner.frontends.text import parse
from tuner.ir.nodes import Program
from tuner.schedule.steps import schedule_from_json
from tuner.target import Target, target
from workers import build_opencl
from workers.build import Built, build
from workers.check import prepare
from workers.toolchain import Compiler, find_compiler, runner

#: Address space for generating and for the compiler.
MEMORY_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class Refused:
    """A schedule that is illegal, or that the generator cannot say."""

    detail: str


@dataclass(frozen=True, slots=True)
class Maker:
    """What requests need beside their own words."""

    compiler: Compiler
    runner: Path

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Meets one request; see the module's docstring."""
        if request["generator"] != GENERATOR:
            raise RuntimeError("Tilewright's code changed under the running worker; restart it")
        folder = Path(request["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        program = _parsed(request["program"])
        if request["op"] == "prepare":
            wide = generate_wide(program)
            built = build([wide], self.compiler, folder)[0]
            return {"checks": asdict(prepare(program, wide, built, self.runner, folder))}
        made = [_generated(program, steps, target(request["target"])) for steps in request["items"]]
        sources = [one for one in made if isinstance(one, Source)]
        built_ones = iter(self._built(sources, folder))
        answers = [one if isinstance(one, Refused) else next(built_ones) for one in made]
        return {"items": [asdict(one) for one in answers]}

    def _built(self, sources: Sequence[Source], folder: Path) -> list[Built]:
        """Of one target, so in one language."""
        if any(source.language == "opencl" for source in sources):
            return build_opencl.build(sources, folder)
        return build(sources, self.compiler, folder)


def item_from_json(data: dict[str, Any]) -> Built | Refused:
    """Inverse of an item's JSON form."""
    return Refused(**data) if data.keys() == {"detail"} else Built(**data)


@lru_cache(maxsize=8)
def _parsed(text: str) -> Program:
    return parse(text)


def _generated(program: Program, steps: dict[str, Any], hardware: Target) -> Source | Refused:
    """A candidate's source. Whatever its schedule does to the generator is its own affair."""
    try:
        return generate(program, schedule_from_json(steps), hardware)
    except TilewrightError as error:
        return Refused(str(error))
    except Exception as error:  # a defect of ours must not cost the candidate's neighbours
        return Refused(f"the generator failed: {type(error).__name__}: {error}")


def serve(maker: Maker) -> None:
    """Answer requests until standard input ends."""
    for line in sys.stdin:
        try:
            answer = maker.answer(json.loads(line))
        except TilewrightError as error:
            answer = {"error": str(error), "refused": True}
        except Exception as error:  # the worker decides what to do about it
            answer = {"error": f"{type(error).__name__}: {error}", "refused": False}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    """`CACHE CPUS IDLE`: the cache folder, cores as 0,1,…, and 1 for idle priority."""
    cache, cpus, idle = arguments
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    if idle == "1":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))
    compiler = find_compiler()
    serve(Maker(compiler, runner(compiler, Path(cache))))


if __name__ == "__main__":
    main(sys.argv[1:])
