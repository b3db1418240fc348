"""Benchmarks: they print what they measured, beside the machine's limits and peers, in one run."""
