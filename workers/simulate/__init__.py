"""Simulated devices: workers without hardware, whose times come from a machine model.

What they report follows from (seed, workload, schedule, repeat) alone; see truth.py for the times
and device.py for noise and faults. Their targets are named sim-… and mix with no others.
"""
