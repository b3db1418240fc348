"""The yardstick: what users would pick instead, timed in turn with what Tilewright serves.

Each peer is a process of its own, perhaps of another interpreter, spoken to over pipes: files that
such a process imports need numpy and the peer, nothing else of this project's requirements.
"""
