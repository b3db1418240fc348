"""From a program and a schedule to the source of one kernel."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tuner.codegen import opencl
from tuner.codegen.c import Translation, translate
from tuner.codegen.source import Source, build_command
from tuner.codegen.wide import in_sequence
from tuner.ir.canonical import workload_hash
from tuner.ir.nodes import Program
from tuner.ir.visit import outputs
from tuner.ir.widen import widen
from tuner.lower.pipeline import lower
from tuner.lower.split_constants import split_constants
from tuner.schedule.apply import apply
from tuner.schedule.steps import Schedule, schedule_to_json, step_text
from tuner.target import Target

#: What every kernel is compiled with; a target's own flags come before the last three. The two
#: -fno- flags only say that nobody looks at errno and at the exception flags; results are IEEE's.
#: Beside -O1 stand the passes of -O2 that make kernels faster; the others only take time (decision
#: 20). clang passes over those that it does not know.
_FLAGS = (
    "-O1", "-fexpensive-optimizations", "-fgcse", "-fschedule-insns2",
    "-ftree-vectorize", "-fno-tree-slp-vectorize",
    "-Wall", "-Wextra", "-fno-math-errno", "-fno-trapping-math",
)  # fmt: skip
_OUTPUT = ("-fPIC", "-shared", "-nostdlib")
#: For the reference: no feature of any machine, no vector loops.
_PLAIN = Target(
    name="portable", kind="cpu", isa=(), vector_bits=64, vector_registers=16, threads=1,
    l1_bytes=32 << 10, l2_bytes=1 << 20, l3_bytes=16 << 20, flags=(),
)  # fmt: skip


def _generator() -> str:
    """Version of everything between a schedule and its text: a hash over the sources."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for package in ("ir", "schedule", "lower", "codegen"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return f"g1:{digest.hexdigest()[:32]}"


#: Two programs of this name emit the same text for the same schedule.
GENERATOR = _generator()


def generate(program: Program, schedule: Schedule, target: Target) -> Source:
    """The source of canonical `program` under `schedule`, in the language of `target`.

    Raises ScheduleError where a step is illegal, CodegenError where the language cannot say it.
    """
    workload, steps = workload_hash(program), json.dumps(schedule_to_json(schedule))
    name = _name(workload, steps, target.name)
    scheduled = apply(program, schedule)
    lines = [step_text(step) for step in schedule] or ["none, loops as written"]
    header = [
        f"workload {workload}, target {target.name}, generator {GENERATOR}",
        "parameters:",
        *(f"    {line}" for line in _parameters(program)),
        "schedule:",
        *(f"    {line}" for line in lines),
    ]
    if target.kind == "opencl":
        kernels = opencl.translate(lower(scheduled, target), name)
        return _opencl_source(program, name, kernels, header)
    return _source(program, name, _in_c(scheduled, name, target), target, header)


def _in_c(scheduled: Program, name: str, target: Target) -> Translation:
    split = split_constants(scheduled)
    ahead = lower(split.ahead, target) if split.ahead is not None else None
    return translate(lower(split.main, target), name, target.threads, target.isa, ahead)


def generate_wide(program: Program) -> Source:
    """The C of the reference of `program`: values in f64 beside their magnitudes (tuner.ir.widen).

    Its parameters are those of the widened program. It runs anywhere and needs the maths library.
    """
    workload = workload_hash(program)
    name = _name(workload, "wide", _PLAIN.name)
    wide = widen(program)
    translation = translate(lower(in_sequence(wide), _PLAIN), name)
    return _source(wide, name, translation, _PLAIN, [
        f"wide reference of workload {workload}, generator {GENERATOR}",
    ])  # fmt: skip


def _parameters(program: Program) -> list[str]:
    """Element type and shape of each parameter, which C does not tell, and which are written or
    constant."""
    written = outputs(program)
    return [
        f"{b.name}: {b.dtype}[{', '.join(map(str, b.shape))}]"
        + (", written" if b.name in written else ", constant" if b.const else "")
        for b in program.params
    ]


def _name(*parts: str) -> str:
    """tw_ and 16 hex digits that stand for what the kernel is made from."""
    text = "\n".join((*parts, GENERATOR))
    return f"tw_{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _source(
    program: Program, name: str, translation: Translation, target: Target, header: list[str]
) -> Source:
    flags = (*_FLAGS, *target.flags, *_OUTPUT)
    lines = [*header, "build:", f"    {build_command(name, flags, translation.libs)}"]
    return Source(
        name=name,
        text=_with_header(name, lines, translation.text),
        params=program.params,
        outputs=outputs(program),
        workspace_bytes=translation.workspace_bytes,
        threads=target.threads,
        flags=flags,
        libs=translation.libs,
        prepared_bytes=translation.prepared_bytes,
    )


def _opencl_source(
    program: Program, name: str, kernels: opencl.Kernels, header: list[str]
) -> Source:
    lines = [*header, "launch, each when the one before has ended:"]
    for kernel in kernels.kernels:
        arguments = ", ".join(kernel.arguments)
        lines.append(f"    {kernel.name}({arguments}): grid {kernel.grid}, block {kernel.block}")
    lines += [f"    with a buffer {b.name} of {b.bytes} bytes" for b in kernels.scratch]
    return Source(
        name=name,
        text=_with_header(name, lines, kernels.text),
        params=program.params,
        outputs=outputs(program),
        workspace_bytes=sum(b.bytes for b in kernels.scratch),
        threads=1,
        flags=(),
        libs=(),
        language="opencl",
        kernels=kernels.kernels,
        scratch=kernels.scratch,
    )


def _with_header(name: str, lines: list[str], text: str) -> str:
    comment = "\n".join(f" * {line.replace('*/', '* /')}" for line in lines)
    return f"/* {name}\n{comment}\n */\n{text}"
