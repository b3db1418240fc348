"""The options of `tilewright worker` that simulate machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tuner.errors import TilewrightError
from tuner.model.machine import MACHINES

_NAMES = ", ".join(sorted(MACHINES))

Name = Annotated[str | None, typer.Option(metavar="MACHINE", help=f"Simulate one of: {_NAMES}.")]
Count = Annotated[int, typer.Option(help="Simulated workers, all of one machine.")]
Seed = Annotated[int, typer.Option(help="Which simulated machine of its kind.")]
Noise = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Sigma of a simulated sample's logarithm.")
]
FaultShares = Annotated[
    str, typer.Option(help="Shares of simulated trials that fail, as in crash=0.01,slow=0.05.")
]
Latency = Annotated[
    float, typer.Option(min=0.0, help="Share of the time on hardware that simulating takes.")
]


class SimulationError(TilewrightError):
    """Options of simulated machines for a real one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which machine to simulate, and how."""

    name: str
    count: int
    seed: int
    noise: float
    faults: str
    latency: float


def asked(
    name: str | None, count: int, seed: int, noise: float, faults: str, latency: float
) -> Asked | None:
    """What the options ask for; None where a real worker is to run. Raises SimulationError where
    that is given options of simulated ones."""
    if name is not None:
        return Asked(name, count, seed, noise, faults, latency)
    if (count, seed, noise, faults, latency) != (1, 0, 0.0, "", 0.0):
        raise SimulationError(
            "--count, --seed, --noise, --faults and --latency are for simulated machines: "
            f"add --simulate with one of {_NAMES}"
        )
    return None
