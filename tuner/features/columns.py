"""The columns of a feature table from the works of a kernel's nests.

The main nest is the one with most arithmetic, and of several or without any, the one with most
instructions; the others (copies, start values, stores) come as sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tuner.features.accesses import count
from tuner.features.ahead import in_each_call
from tuner.features.nest import Kernel
from tuner.features.work import NestWork, work_of
from tuner.space.knobs import Floats
from tuner.target import Target

Columns = dict[str, Floats]
_LEVELS = ("l1", "l2", "l3")
#: Weight of instructions beside arithmetic where the main nest is chosen.
_TIE = 1e-6

_SUMS: Mapping[str, Callable[[NestWork], Floats]] = {
    "flops": lambda w: w.flops,
    "costly": lambda w: w.costly,
    "executed_flops": lambda w: w.flops * w.executed,
    "arithmetic": lambda w: w.arithmetic,
    "loads": lambda w: w.bodies * w.moves.loads,
    "stores": lambda w: w.bodies * w.moves.stores,
    "scattered": lambda w: w.bodies * w.moves.scattered,
    "waiting": lambda w: w.waiting,
    "bodies": lambda w: w.bodies,
    "loop_iterations": lambda w: w.loop_iterations,
    "statements": lambda w: w.statements,
    "teams": lambda w: w.threads.teams,
    "cycles": lambda w: w.cycles / w.threads.busy,
    "scalar": lambda w: np.where(w.lanes > 1, 0.0, w.iterations),
    "scalar_flops": lambda w: np.where(w.lanes > 1, 0.0, w.flops),
    "vector_flops": lambda w: w.flops / w.lanes,
    "instructions": lambda w: w.arithmetic + w.bodies * (w.moves.loads + w.moves.stores),
    "traffic_l1": lambda w: w.memory.traffic[0],
    "traffic_l2": lambda w: w.memory.traffic[1],
    "traffic_l3": lambda w: w.memory.traffic[2],
}
_MAIN: Mapping[str, Callable[[NestWork], Floats]] = {
    "registers": lambda w: w.registers,
    "accumulators": lambda w: w.accumulators,
    "inner": lambda w: w.inner,
    "outer": lambda w: w.outer,
    "lanes": lambda w: w.lanes,
    "horizontal": lambda w: w.horizontal,
    "executed_share": lambda w: w.executed,
    "tail_share": lambda w: w.tail,
    "statements": lambda w: w.statements,
    "threads": lambda w: w.threads.busy,
    "chunks": lambda w: w.threads.chunks,
    "thread_work": lambda w: w.threads.each,
    "aliased": lambda w: w.memory.aliased,
    "pages": lambda w: w.memory.pages,
    "streams": lambda w: w.memory.streams,
    "stride": lambda w: w.memory.stride,
    "thread_stride": lambda w: w.memory.thread_stride,
    "footprint_1": lambda w: w.memory.footprints[0],
    "footprint_2": lambda w: w.memory.footprints[1],
    "footprint_3": lambda w: w.memory.footprints[2],
    "body_bytes": lambda w: w.memory.body_bytes,
    "bytes": lambda w: w.memory.bytes,
    "resident_l1": lambda w: w.memory.resident[0],
    "resident_l2": lambda w: w.memory.resident[1],
    "resident_l3": lambda w: w.memory.resident[2],
    "traffic_l1": lambda w: w.memory.traffic[0],
    "traffic_l2": lambda w: w.memory.traffic[1],
    "traffic_l3": lambda w: w.memory.traffic[2],
}
#: Of the main nest too, but under names of their own or in ratios only.
_MAIN_PARTS: Mapping[str, Callable[[NestWork], Floats]] = {
    "vectors": lambda w: w.bodies * w.moves.vectors,
    "broadcasts": lambda w: w.bodies * w.moves.broadcasts,
    "moved": lambda w: w.memory.moved,
    "blocks": lambda w: w.threads.blocks,
    "block_threads": lambda w: w.threads.in_block,
}


def columns_of(base: Kernel, kernel: Kernel, target: Target, n: int) -> Columns:
    """Every feature of a kernel, [n] or [1]; `base` is the program as written."""
    if target.kind == "cpu":
        kernel = in_each_call(kernel)
    works = [work_of(kernel, nest, target) for nest in kernel.nests]
    each = {name: _stacked(works, pick, n) for name, pick in _SUMS.items()}
    chosen = np.argmax(each["arithmetic"] + _TIE * each["instructions"], axis=0), np.arange(n)
    main = {name: column[chosen] for name, column in each.items()}
    for name, pick in {**_MAIN, **_MAIN_PARTS}.items():
        main[name] = _stacked(works, pick, n)[chosen]
    total = {name: _sum(column) for name, column in each.items()}
    depth = np.array([float(len(nest.loops)) for nest in kernel.nests])
    copies = [row for row, nest in enumerate(kernel.nests) if not nest.cheap + nest.costly]
    return {
        **{name: total[name] for name in _TOTALS},
        **_of_main(main, total, target),
        **_of_rest(works, main, total, target),
        **_of_buffers(base, kernel, target),
        **_of_program(base, total),
        **_of_target(target),
        "nests": np.array([float(len(works))]),
        "main_depth": depth[chosen[0]],
        "copy_share": _sum(each["traffic_l1"][copies]) / _some(total["traffic_l1"]),
    }


def _stacked(works: Sequence[NestWork], pick: Callable[[NestWork], Floats], n: int) -> Floats:
    """[nests, points]"""
    out = np.empty((len(works), n))
    for row, work in enumerate(works):
        out[row] = pick(work)
    return out


def _sum(rows: Floats) -> Floats:
    """One row after the other, so that a point's sum does not depend on how many there are."""
    out = np.zeros(rows.shape[1])
    for row in rows:
        out += row
    return out


def _some(divisor: Floats) -> Floats:
    return np.maximum(divisor, 1.0)


_TOTALS = (
    "flops", "arithmetic", "loads", "stores", "waiting", "scattered", "bodies", "statements",
    "teams", "executed_flops", "loop_iterations",
)  # fmt: skip


def _of_main(main: Columns, total: Columns, target: Target) -> Columns:
    per = _some(main["arithmetic"])
    sizes = (target.l1_bytes, target.l2_bytes, target.l3_bytes)
    out = {f"main_{name}": main[name] for name in _MAIN}
    out["main_arithmetic_share"] = main["arithmetic"] / _some(total["arithmetic"])
    for name in ("loads", "stores", "waiting", "broadcasts"):
        out[f"main_{name}_per_arithmetic"] = main[name] / per
    out["main_register_share"] = main["registers"] / target.vector_registers
    out["main_lane_share"] = main["lanes"] * 32.0 / target.vector_bits
    out["main_arithmetic_per_body"] = main["arithmetic"] / _some(main["bodies"])
    out["main_contiguous_share"] = main["vectors"] / _some(main["loads"] + main["stores"])
    out["main_reuse"] = main["moved"] / _some(main["bytes"])
    out["main_balance"] = main["threads"] / target.threads
    out["blocks"], out["block_threads"] = main["blocks"], main["block_threads"]
    out["block_thread_share"] = main["block_threads"] / max(target.block_threads, 1)
    for depth, (level, size) in enumerate(zip(_LEVELS, sizes, strict=True), start=1):
        out[f"main_footprint_{depth}_of_{level}"] = main[f"footprint_{depth}"] / size
        out[f"main_intensity_{level}"] = main["flops"] / _some(main[f"traffic_{level}"])
    return out


def _of_rest(works: Sequence[NestWork], main: Columns, total: Columns, target: Target) -> Columns:
    """All nests but the main one."""
    names = ("instructions", "scattered", "scalar", *(f"traffic_{level}" for level in _LEVELS))
    out = {f"rest_{name}": total[name] - main[name] for name in names}
    out["rest_instruction_share"] = out["rest_instructions"] / _some(total["instructions"])
    busy = _sum(
        _stacked(works, lambda w: _SUMS["instructions"](w) / w.threads.busy, len(main["threads"]))
    )
    rest_busy = busy - main["instructions"] / main["threads"]
    out["rest_threads"] = _some(out["rest_instructions"]) / _some(rest_busy)
    out["rest_balance"] = out["rest_threads"] / target.threads
    out["cycles_compute"] = total["cycles"]
    return out


def _of_buffers(base: Kernel, kernel: Kernel, target: Target) -> Columns:
    sizes = {name: shape.bytes() for name, shape in kernel.shapes.items()}
    tiles = [sizes[name] for name, shape in kernel.shapes.items() if shape.tile]
    room = target.vector_registers * target.vector_bits // 8
    nothing = np.zeros(1)
    return {
        "buffers_made": sum((s for name, s in sizes.items() if name not in base.shapes), nothing),
        "all_bytes": sum(sizes.values(), nothing),
        "tile_bytes": sum(tiles, nothing),
        "spilled_bytes": sum((np.where(size > room, size, 0.0) for size in tiles), nothing),
    }


def _of_program(base: Kernel, total: Columns) -> Columns:
    """Against the program as written, and of the whole."""
    issued = (count(nest.loops) * (nest.cheap + nest.costly) for nest in base.nests)
    flops = _some(sum(issued, np.zeros(1)))
    size = sum((shape.bytes() for shape in base.shapes.values()), np.zeros(1))
    out = {"program_flops": flops, "program_bytes": size, "program_intensity": flops / size}
    out["waste"] = total["flops"] / flops
    for name in ("instructions", "cycles", "bodies"):
        out[f"{name}_per_flop"] = total[name] / flops
    moves = total["loads"] + total["stores"]
    out["moves_per_arithmetic"] = moves / _some(total["arithmetic"])
    out["waiting_per_arithmetic"] = total["waiting"] / _some(total["arithmetic"])
    out["scattered_per_move"] = total["scattered"] / _some(moves)
    out["costly_share"] = total["costly"] / _some(total["flops"])
    out["scalar_share"] = total["scalar_flops"] / _some(total["flops"])
    out["mean_lanes"] = _some(total["flops"]) / _some(total["vector_flops"])
    for level in _LEVELS:
        out[f"intensity_{level}"] = flops / _some(total[f"traffic_{level}"])
        out[f"reload_{level}"] = total[f"traffic_{level}"] / size
    return out


def _of_target(target: Target) -> Columns:
    values = {
        "vector_bytes": target.vector_bits / 8,
        "target_registers": target.vector_registers,
        "target_vectors_per_cycle": target.vectors_per_cycle,
        "target_l1": target.l1_bytes,
        "target_l2": target.l2_bytes,
        "target_l3": target.l3_bytes,
        "target_threads": target.threads,
        "target_block_threads": target.block_threads,
    }
    return {name: np.array([float(value)]) for name, value in values.items()}
