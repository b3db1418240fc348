"""Everything that can be set, in one frozen value; spans are seconds, sizes bytes.

Nothing here is read from the environment: the command line makes a Settings and hands it in.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a server and a tuner run."""

    #: sqlite:///PATH or postgresql://USER@HOST/NAME
    database_url: str
    host: str = "127.0.0.1"
    port: int = 8765
    #: must be said to listen on anything but the loopback
    allow_remote: bool = False
    #: names under which the server may be addressed, besides `host`
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
    max_body_bytes: int = 4 << 20
    #: a worker that does not beat for this long loses its lease
    lease_s: float = 60.0
    #: how often a worker beats
    beat_s: float = 15.0
    #: how long a claim waits for work
    poll_s: float = 25.0
    #: a worker that was not heard of for this long counts as gone
    live_s: float = 60.0
    #: how often overdue leases and jobs are looked for
    reap_s: float = 5.0
    #: how often waiting requests and an idle tuner look whether the database has changed
    tick_s: float = 0.05
    #: a tuner that does not renew for this long loses its job
    job_lease_s: float = 60.0

    def __post_init__(self) -> None:
        if not self.allow_remote and not is_loopback(self.host):
            raise ValueError(
                f"host {self.host!r} is not the loopback: everybody who reaches this machine "
                "could try tokens; set allow_remote if that is what you want"
            )

    @property
    def hosts(self) -> frozenset[str]:
        """What a Host header may say, without its port."""
        return frozenset(name.lower() for name in (*self.allowed_hosts, self.host))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
