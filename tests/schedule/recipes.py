"""Whole schedules of the kind that spaces generate, for programs of tests.schedule.programs."""

from __future__ import annotations

from tuner.schedule.steps import (
    CacheWrite,
    ComputeAt,
    DecomposeReduction,
    Pack,
    Reorder,
    Rfactor,
    Schedule,
    Split,
    Unroll,
    Vectorize,
)


def packed_matmul(mr: int, nr: int, ku: int, lanes: int) -> Schedule:
    """Both inputs packed, a register tile per (i0, j0), all of k inside it."""
    return (
        Pack("b", "bp", "", (f"1//{nr}", "0", f"1%{nr}"), ("pb0", "pb1", "pb2")),
        Pack("a", "ap", "", (f"0//{mr}", "1", f"0%{mr}"), ("pa0", "pa1", "pa2")),
        Split("i", mr, "i0", "i1"),
        Split("j", nr, "j0", "j1"),
        Reorder(("i0", "j0", "i1", "j1")),
        CacheWrite("c", "j0", "acc", (), (), ("s0", "s1")),
        DecomposeReduction("acc", "i1", ("z0", "z1")),
        Split("k", ku, "k0", "k1"),
        Reorder(("k0", "k1", "i1", "j1")),
        Split("j1", lanes, "jv", "jl"),
        Vectorize("jl"),
        Unroll("jv"),
        Unroll("i1"),
        Unroll("k1"),
    )


def blocked_matmul(mr: int, nr: int, kb: int) -> Schedule:
    """k in blocks: the register tile is loaded from c and stored back once per block."""
    return (
        DecomposeReduction("c", "i", ("a0", "a1")),
        Split("i", mr, "i0", "i1"),
        Split("j", nr, "j0", "j1"),
        Split("k", kb, "k0", "k1"),
        Reorder(("j0", "k0", "i0", "k1", "i1", "j1")),
        CacheWrite("c", "i0", "acc", (), ("t0", "t1"), ("s0", "s1")),
        Vectorize("j1"),
        Vectorize("t1"),
        Vectorize("s1"),
        Unroll("i1"),
    )


def fused_dense_relu(mr: int, nr: int, ku: int, packed: bool) -> Schedule:
    """h is computed tile by tile inside y's nest and is itself the accumulator."""
    pack = (
        Pack("w", "wp", "", (f"1//{nr}", "0", f"1%{nr}"), ("pb0", "pb1", "pb2")),
        Pack("x", "xp", "", (f"0//{mr}", "1", f"0%{mr}"), ("pa0", "pa1", "pa2")),
    )
    return (
        *(pack if packed else ()),
        Split("r", mr, "r0", "r1"),
        Split("s", nr, "s0", "s1"),
        Reorder(("r0", "s0", "r1", "s1")),
        ComputeAt("h", "s0", ()),
        DecomposeReduction("h", "i", ("z0", "z1")),
        Split("k", ku, "k0", "k1"),
        Reorder(("k0", "k1", "i", "j")),
        Vectorize("j"),
        Unroll("i"),
        Unroll("k1"),
        Vectorize("z1"),
        Vectorize("s1"),
    )


def conv_over_filters(ft: int, wt: int) -> Schedule:
    """Filters are lanes: the tile's cache has f innermost."""
    return (
        Split("f", ft, "f0", "f1"),
        Split("j", wt, "j0", "j1"),
        Reorder(("n", "f0", "i", "j0", "j1", "f1")),
        Pack("x", "xp", "", ("0", "1", "2", "3"), ("x0", "x1", "x2", "x3")),
        Pack("w", "wp", "", (f"0//{ft}", "1", "2", "3", f"0%{ft}"), ("w0", "w1", "w2", "w3", "w4")),
        CacheWrite("y", "j0", "acc", (0, 2, 3, 1), (), ("s0", "s1", "s2", "s3")),
        DecomposeReduction("acc", "j1", ("z0", "z1")),
        Reorder(("c", "p", "q", "j1", "f1")),
        Vectorize("f1"),
        Unroll("j1"),
        Unroll("q"),
        Vectorize("z1"),
    )


def conv_over_columns(ft: int, wt: int) -> Schedule:
    """Columns are lanes."""
    return (
        Split("f", ft, "f0", "f1"),
        Split("j", wt, "j0", "j1"),
        Reorder(("n", "f0", "i", "j0", "f1", "j1")),
        Pack("x", "xp", "", ("0", "1", "2", "3"), ("x0", "x1", "x2", "x3")),
        Pack("w", "wp", "", (f"0//{ft}", "1", "2", "3", f"0%{ft}"), ("w0", "w1", "w2", "w3", "w4")),
        CacheWrite("y", "j0", "acc", (), (), ("s0", "s1", "s2", "s3")),
        DecomposeReduction("acc", "f1", ("z0", "z1")),
        Reorder(("c", "p", "q", "f1", "j1")),
        Vectorize("j1"),
        Unroll("f1"),
        Vectorize("z1"),
        Vectorize("s3"),
    )


def row_reduction(loop: str, lanes: int, unroll: int, cache: str) -> Schedule:
    """Partial results per lane and unrolled copy, then per lane, then one."""
    width = lanes * unroll
    return (
        Split(loop, width, f"{loop}_o", f"{loop}_i"),
        Rfactor(f"{loop}_i", cache, f"{cache}_a", f"{cache}_b"),
        Split(f"{loop}_i", lanes, f"{loop}_u", f"{loop}_v"),
        Vectorize(f"{loop}_v"),
        Unroll(f"{loop}_u"),
        Split(f"{cache}_a", lanes, f"{cache}_au", f"{cache}_av"),
        Vectorize(f"{cache}_av"),
        Split(f"{cache}_b", lanes, f"{cache}_bu", f"{cache}_bv"),
        Rfactor(f"{cache}_bv", f"{cache}2", f"{cache}2_a", f"{cache}2_b"),
        Vectorize(f"{cache}_bv"),
        Unroll(f"{cache}_bu"),
        Vectorize(f"{cache}2_a"),
        Vectorize(f"{cache}2_b"),
    )


def row_elementwise(loop: str, lanes: int, unroll: int) -> Schedule:
    """Lanes and unrolled copies."""
    return (
        Split(loop, lanes * unroll, f"{loop}_o", f"{loop}_i"),
        Split(f"{loop}_i", lanes, f"{loop}_u", f"{loop}_v"),
        Vectorize(f"{loop}_v"),
        Unroll(f"{loop}_u"),
    )


def row_softmax(lanes: int, unroll: int) -> Schedule:
    """Scalars in local caches, every inner loop vectorized."""
    return (
        CacheWrite("m", "i", "ml", (), (), ("m0",)),
        CacheWrite("s", "i", "sl", (), (), ("s0",)),
        *row_reduction("j", lanes, unroll, "p"),
        *row_elementwise("e", lanes, unroll),
        *row_reduction("t", lanes, unroll, "q"),
        *row_elementwise("d", lanes, unroll),
    )
