"""The peers: each module has `start(threads, folder)`, which returns an Engine.

They are imported in the peer's own process; an ImportError there is why a peer is skipped.
`folder` holds what slow tuners found. They are called with_… so as not to hide what they import.
"""
