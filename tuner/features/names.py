"""The features: names, units and meanings, in the order of the columns, and their version.

All are totals or ratios of the scheduled program before lowering; none is a logarithm, as trees
only compare. Issued is what the loops count, guards ignored. docs/features.md is written from here.
"""

from __future__ import annotations

from typing import NamedTuple

#: Changes whenever a name, a unit or a meaning below does; models of another version are not read.
FEATURE_VERSION = "f4"


class Feature(NamedTuple):
    """What one column holds."""

    unit: str
    meaning: str


_WHOLE: dict[str, tuple[str, str]] = {
    "flops": ("operations", "issued by all nests"),
    "waste": ("operations / operation", "issued over those of the program as written"),
    "arithmetic": (
        "instructions",
        "vector instructions of arithmetic; scalar ones where a nest has no vectors",
    ),
    "loads": ("instructions", "from memory; tiles that fit the registers are not memory"),
    "stores": ("instructions", "to memory"),
    "waiting": (
        "cycles", "in which accumulations into the same register wait for each other, at least"
    ),
    "scattered": ("elements", "moved one by one in nests that have vectors"),
    "bodies": ("runs", "of straight code: a nest's unrolled and vectorized innermost loops"),
    "statements": ("statements", "that all bodies are written out to, vectors being one each"),
}  # fmt: skip

_MAIN: dict[str, tuple[str, str]] = {
    "main_arithmetic_share": ("of all arithmetic instructions", "in the main nest"),
    "main_loads_per_arithmetic": ("instructions / instruction", "loads over arithmetic"),
    "main_stores_per_arithmetic": ("instructions / instruction", "stores over arithmetic"),
    "main_waiting_per_arithmetic": ("cycles / instruction", "waiting over arithmetic"),
    "main_statements": ("statements", "that the body is written out to"),
    "main_registers": ("vector registers", "that hold tiles and operands in the body"),
    "main_register_share": ("of the target's vector registers", "main_registers"),
    "main_accumulators": ("vector registers", "that the body writes"),
    "main_inner": ("iterations", "of the innermost serial loop"),
    "main_lanes": ("elements", "used of each vector"),
    "main_lane_share": ("of a vector of 32-bit elements", "main_lanes"),
    "main_aliased": (
        "lines", "that one body has in the same set of an L1 cache, for the worst operand"
    ),
    "main_pages": ("pages of 4 KiB", "touched by one round of the innermost serial loop"),
    "main_footprint_1": ("bytes", "in whole cache lines, touched by the innermost serial loop"),
    "main_footprint_2": ("bytes", "touched by the serial loop around that"),
    "main_footprint_3": ("bytes", "touched by the next serial loop further out"),
    "main_footprint_1_of_l1": ("of L1", "main_footprint_1"),
    "main_footprint_2_of_l2": ("of L2", "main_footprint_2"),
    "main_footprint_3_of_l3": ("of L3", "main_footprint_3"),
    "main_traffic_l1": (
        "bytes",
        "loaded into L1: what the outermost loop touches whose body fits, once for each iteration "
        "of the loops further out",
    ),
    "main_traffic_l2": ("bytes", "loaded into L2"),
    "main_traffic_l3": ("bytes", "loaded into L3"),
    "main_intensity_l1": ("operations / byte", "issued for each byte loaded into L1"),
    "main_intensity_l2": ("operations / byte", "issued for each byte loaded into L2"),
    "main_intensity_l3": ("operations / byte", "issued for each byte loaded into L3"),
    "main_depth": ("loops", "around the statement"),
    "main_threads": ("threads", "busy on average"),
}  # fmt: skip

_REST: dict[str, tuple[str, str]] = {
    "rest_threads": ("threads", "busy on average in the other nests, weighted by instructions"),
    "teams": ("times", "that a team of threads is begun"),
    "rest_instructions": ("instructions", "of arithmetic, loads and stores in the other nests"),
    "rest_instruction_share": ("of all instructions", "rest_instructions"),
    "rest_scattered": ("elements", "moved one by one in the other nests"),
    "rest_traffic_l1": ("bytes", "loaded into L1 by the other nests"),
    "rest_traffic_l2": ("bytes", "loaded into L2 by the other nests"),
    "rest_traffic_l3": ("bytes", "loaded into L3 by the other nests"),
    "rest_scalar": ("iterations", "of other nests that have no vectors"),
    "buffers_made": ("bytes", "of buffers that the schedule adds"),
    "all_bytes": ("bytes", "of all buffers"),
    "nests": ("nests", "one for each statement"),
    "cycles_compute": (
        "cycles",
        "of the busiest thread: of each nest the largest of arithmetic, waiting, loads and stores",
    ),
    "vector_bytes": ("bytes", "of the target's vector register"),
}  # fmt: skip

_GUARDS: dict[str, tuple[str, str]] = {
    "executed_flops": ("operations", "issued that guards let pass"),
    "main_executed_share": ("of issued operations", "that the main nest's guards let pass"),
    "main_tail_share": (
        "of the elements along vectors",
        "in the last tile where it is ragged: those run without vectors",
    ),
}

_RATIOS: dict[str, tuple[str, str]] = {
    "program_flops": ("operations", "of the program as written"),
    "program_bytes": ("bytes", "of the buffers of the program as written"),
    "program_intensity": ("operations / byte", "program_flops over program_bytes"),
    "costly_share": ("of issued operations", "such as exp, division and square root"),
    "instructions_per_flop": ("instructions / operation", "of the program as written"),
    "cycles_per_flop": ("cycles / operation", "cycles_compute for each of the program as written"),
    "bodies_per_flop": ("runs / operation", "of straight code, for each of the program as written"),
    "moves_per_arithmetic": ("instructions / instruction", "loads and stores over arithmetic"),
    "waiting_per_arithmetic": ("cycles / instruction", "waiting over arithmetic, all nests"),
    "scattered_per_move": ("elements / instruction", "of loads and stores of all nests"),
    "scalar_share": ("of issued operations", "in nests without vectors"),
    "mean_lanes": ("elements", "used of each vector, over all operations issued"),
    "copy_share": ("of the bytes loaded into L1", "by nests that only copy"),
    "intensity_l1": ("operations / byte", "of the program for each byte loaded into L1"),
    "intensity_l2": ("operations / byte", "of the program for each byte loaded into L2"),
    "intensity_l3": ("operations / byte", "of the program for each byte loaded into L3"),
    "reload_l1": ("bytes / byte", "loaded into L1 over program_bytes"),
    "reload_l2": ("bytes / byte", "loaded into L2 over program_bytes"),
    "reload_l3": ("bytes / byte", "loaded into L3 over program_bytes"),
    "loop_iterations": ("iterations", "of serial loops at all depths, of all nests"),
    "tile_bytes": ("bytes", "of buffers made to hold tiles"),
    "spilled_bytes": ("bytes", "of those of them that the registers cannot hold"),
}

_MAIN_MORE: dict[str, tuple[str, str]] = {
    "main_arithmetic_per_body": ("instructions", "of arithmetic in one run of straight code"),
    "main_broadcasts_per_arithmetic": (
        "instructions / instruction", "loads of one element for all lanes, over arithmetic"
    ),
    "main_contiguous_share": ("of its loads and stores", "that move whole vectors"),
    "main_horizontal": ("0 or 1", "whether the lanes of a vector are accumulated into one element"),
    "main_streams": ("buffers", "in memory that the main nest reads or writes"),
    "main_stride": (
        "bytes", "from one round of the innermost serial loop to the next, for the worst operand"
    ),
    "main_outer": ("iterations", "of the outermost loop"),
    "main_body_bytes": ("bytes", "in whole cache lines, touched by one run of straight code"),
    "main_bytes": ("bytes", "in whole cache lines, touched by the whole nest"),
    "main_reuse": ("bytes / byte", "that statements move to and from memory, over main_bytes"),
    "main_resident_l1": ("iterations", "that run on what L1 holds before it is loaded again"),
    "main_resident_l2": ("iterations", "that run on what L2 holds"),
    "main_resident_l3": ("iterations", "that run on what L3 holds"),
    "main_chunks": ("iterations", "that threads share"),
    "main_balance": ("of the target's threads", "main_threads"),
    "rest_balance": ("of the target's threads", "rest_threads"),
    "blocks": ("blocks", "of the main nest's grid"),
    "block_threads": ("threads", "of one block of the main nest"),
    "block_thread_share": ("of the most that the target allows", "block_threads"),
    "main_thread_stride": ("bytes", "from one thread along x to the next, for the worst operand"),
    "main_thread_work": ("iterations", "of each thread of a block"),
}  # fmt: skip

_TARGET: dict[str, tuple[str, str]] = {
    "target_registers": ("vector registers", "of the target"),
    "target_vectors_per_cycle": ("instructions", "of arithmetic that the target begins in a cycle"),
    "target_l1": ("bytes", "of the target's L1 data cache"),
    "target_l2": ("bytes", "of the target's L2 cache"),
    "target_l3": ("bytes", "of the target's L3 cache"),
    "target_threads": ("threads", "of the target"),
    "target_block_threads": ("threads", "of one block at most, 0 for targets without blocks"),
}

#: The groups, in the order of the columns.
GROUPS: dict[str, dict[str, Feature]] = {
    title: {name: Feature(*about) for name, about in group.items()}
    for title, group in {
        "All nests": _WHOLE,
        "The main nest": _MAIN,
        "The other nests, and buffers": _REST,
        "Guards": _GUARDS,
        "The whole program, by ratios": _RATIOS,
        "The main nest, further": _MAIN_MORE,
        "The target": _TARGET,
    }.items()
}

#: Name of each feature, and what it is, in the order of the columns.
FEATURES: dict[str, Feature] = {
    name: feature for group in GROUPS.values() for name, feature in group.items()
}
