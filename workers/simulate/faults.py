"""What goes wrong on a simulated device, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workers.errors import WorkerError


class Fault(StrEnum):
    """What may happen to a candidate instead of, or beside, being measured."""

    #: the kernel dies by a signal
    CRASH = "crash"
    #: the kernel does not come back within its limit
    HANG = "hang"
    #: the kernel computes something else
    WRONG = "wrong"
    #: the machine is busy otherwise: all samples take SLOW_FACTOR times as long
    SLOW = "slow"
    #: the worker is gone with its lease before the candidate is measured, and comes back; the
    #: candidate is not lost a second time
    DISCONNECT = "disconnect"


SLOW_FACTOR = 3.0


class FaultsError(WorkerError):
    """A specification of faults that is none."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of trials that each fault happens to; they exclude each other."""

    rates: tuple[tuple[Fault, float], ...] = ()

    def __str__(self) -> str:
        return ",".join(f"{fault}={rate:g}" for fault, rate in self.rates)

    def drawn(self, at: float) -> Fault | None:
        """The fault of a trial whose lot is `at`, a uniform number in (0, 1)."""
        for fault, rate in self.rates:
            if at < rate:
                return fault
            at -= rate
        return None


NO_FAULTS = Faults()


def read_faults(spec: str) -> Faults:
    """Reads a text like "crash=0.01,slow=0.05"; an empty one means none.

    Raises FaultsError, naming the part that is wrong and what could stand there.
    """
    rates: dict[Fault, float] = {}
    for part in filter(None, (p.strip() for p in spec.split(","))):
        name, equals, number = part.partition("=")
        try:
            fault = Fault(name.strip())
        except ValueError:
            raise FaultsError(
                f"faults: {part!r}: no fault {name.strip()!r}; there are: {', '.join(Fault)}, "
                "as in crash=0.01,slow=0.05"
            ) from None
        if fault in rates:
            raise FaultsError(f"faults: {part!r}: {fault} is there twice; give it once")
        try:
            rates[fault] = float(number)
        except ValueError:
            rates[fault] = -1.0
        if not (equals and 0.0 <= rates[fault] <= 1.0):
            raise FaultsError(
                f"faults: {part!r}: expected {fault}=SHARE with a share of trials from 0 to 1"
            )
    if (total := sum(rates.values())) > 1.0:
        raise FaultsError(f"faults: {spec!r}: the shares add up to {total:g}; at most 1 is left")
    return Faults(tuple(rates.items()))
