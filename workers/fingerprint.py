"""What this machine is, found by looking; which targets it has. Linux."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.target import TARGETS, Target, with_threads
from workers import build_opencl
from workers.toolchain import Compiler

#: /proc/cpuinfo's words for what a code generator can use; kernel mitigations and the like vary
#: with boots and are left out.
_ISA = re.compile(
    r"^(sse\w*|ssse3|avx\w*|fma|f16c|bmi[12]|amx_\w+|gfni|vaes|asimd\w*|sve\w*|fphp|bf16|i8mm)$"
)


@dataclass(frozen=True, slots=True)
class Machine:
    """One concrete machine. `fingerprint` changes with its hardware, never with load or clock."""

    fingerprint: str
    facts: dict[str, Any]
    targets: tuple[str, ...]


def look(compiler: Compiler, root: Path = Path("/")) -> Machine:
    """This machine; `root` is where /proc, /sys and /etc are found."""
    info = _read(root / "proc/cpuinfo")
    features = set(_value(info, "flags").split() or _value(info, "Features").split())
    hardware = {
        "arch": platform.machine(),
        "model": _value(info, "model name") or _value(info, "CPU part"),
        "stepping": _value(info, "stepping"),
        "isa": sorted(f for f in features if _ISA.match(f)),
        "cpus": _cpus(root),
        "cores": _cores(root),
        "caches": _caches(root),
        "machine_id": _hidden(_read(root / "etc/machine-id").strip()),
    }
    text = json.dumps(hardware, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    facts = {
        **hardware, "opencl": build_opencl.found(),
        "compiler": compiler.version, "kernel": platform.release(),
        "governor": _read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
    }  # fmt: skip
    opencl = bool(facts["opencl"])
    alone = [t for t in TARGETS.values() if has(t, features, opencl)]
    threads = min(_cores(root), len(os.sched_getaffinity(0)))
    together = [with_threads(t, threads) for t in alone if threads > 1 and not t.has_blocks]
    return Machine(f"f1:{digest[:32]}", facts, tuple(t.name for t in (*alone, *together)))


def has(target: Target, features: set[str], opencl: bool) -> bool:
    """Can a machine whose CPU has these features, with or without PoCL, run code for `target`?"""
    return set(target.isa) <= features and (opencl or target.kind != "opencl")


def measuring_cpu() -> int:
    """The core that runs of one thread are pinned to: the last one that this process may use."""
    return max(os.sched_getaffinity(0))


def measuring_cpus(root: Path = Path("/")) -> tuple[int, ...]:
    """The cores that timed runs are pinned to, each as many as it has threads, the first ones
    first: from the last downwards, second threads of a core behind all first ones."""
    seen: set[str] = set()
    first: list[int] = []
    second: list[int] = []
    for cpu in sorted(os.sched_getaffinity(0), reverse=True):
        siblings = _siblings(root / f"sys/devices/system/cpu/cpu{cpu}")
        (second if siblings and siblings in seen else first).append(cpu)
        seen.add(siblings)
    return (*first, *second)


def other_cpus() -> set[int]:
    """The cores that timing one thread leaves free; all of them where there is one only."""
    usable = os.sched_getaffinity(0)
    return usable - {measuring_cpu()} or usable


def _read(path: Path) -> str:
    """The file's text; empty where there is none or it may not be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _value(info: str, key: str) -> str:
    found = re.search(rf"^{key}\s*:\s*(.*)$", info, re.MULTILINE)
    return found.group(1).strip() if found else ""


def _cpus(root: Path) -> int:
    return len(_cpu_folders(root)) or os.cpu_count() or 1


def _cpu_folders(root: Path) -> list[Path]:
    return sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*"))


def _cores(root: Path) -> int:
    """Physical cores: threads of one core name the same siblings."""
    return len({_siblings(cpu) for cpu in _cpu_folders(root)} - {""}) or _cpus(root)


def _siblings(cpu: Path) -> str:
    return _read(cpu / "topology/thread_siblings_list")


def _caches(root: Path) -> dict[str, str]:
    """Size of each cache of the first core, like {"L1 Data": "32K"}."""
    found = {}
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = f"L{_read(index / 'level').strip()} {_read(index / 'type').strip()}"
        found[kind] = _read(index / "size").strip()
    return found


def _hidden(identity: str) -> str:
    """The machine's id is not for others to see; a hash of it serves."""
    return hashlib.sha256(b"tilewright" + identity.encode()).hexdigest()[:16] if identity else ""
