"""How long a kernel takes on a simulated machine, without noise: what a search has to find out.

It reads the same features as the cost model's prior (tuner.model.analytic) and starts from the same
machine, but knows what the prior does not: the seed moves every coefficient; arithmetic and moving
data overlap in part; caches fill up before they are full; code that is long starves the decoders;
pages miss; all cores share one memory and slow each other's clock; a launched block has to fill the
device. On top comes a residual that no formula tells: smooth in pairs of features, between knots
whose heights are hashes.
"""

from __future__ import annotations

import numpy as np

from tuner.features.nest import kernel_of
from tuner.features.table import FEATURE_VERSION, FEATURES, table_of
from tuner.ir.nodes import Program
from tuner.model.machine import Machine, machine_of
from tuner.schedule.apply import apply
from tuner.schedule.steps import Schedule
from tuner.space.knobs import Floats
from tuner.target import Target
from workers.simulate.hashes import key, knots, uniform

#: Changes whenever some kernel takes another time than before.
TRUTH_VERSION = "t3"
#: A seed multiplies each coefficient by up to this, or divides it.
SPREAD = 1.35
#: Pairs of features that the residual is a smooth function of.
PAIRS = (
    ("main_footprint_1", "main_registers"),
    ("main_footprint_2", "main_inner"),
    ("main_footprint_3", "main_statements"),
    ("main_intensity_l1", "main_pages"),
    ("main_accumulators", "main_intensity_l2"),
    ("rest_traffic_l1", "main_aliased"),
)
#: Largest effect of one pair, as a logarithm: together they come to 10 or 20%, seldom to 40%.
PAIR_EFFECT = 0.14
#: What it comes to on average, likewise: nothing is faster than its arithmetic.
MEAN_EFFECT = 0.25
#: Octaves of a feature from one knot to the next.
OCTAVES = 1.5
#: 32-bit registers of one core of a GPU, and the warps that it holds at most.
CORE_REGISTERS, MOST_WARPS = 65536.0, 64.0
_COLUMN = {name: i for i, name in enumerate(FEATURES)}


def simulated_seconds(program: Program, schedule: Schedule, hardware: Target, seed: int) -> float:
    """Seconds of one call of a scheduled canonical program on the machine of a simulated target.

    Raises ScheduleError where the schedule is illegal.
    """
    kernel = kernel_of(apply(program, schedule))
    table = table_of(kernel_of(program), kernel, hardware, 1)
    return float(true_seconds(table, hardware, seed)[0])


def true_seconds(table: Floats, hardware: Target, seed: int) -> Floats:
    """`simulated_seconds` of all rows of a feature table, [points]: symbolic features are equal to
    those of the concretely scheduled program."""
    machine = machine_of(hardware)
    truth = _Truth(table, hardware, machine, seed)
    disturbed = truth.cycles() * np.exp(MEAN_EFFECT + _residual(table, machine, seed))
    cycles = np.maximum(disturbed, truth.least())
    return np.asarray(cycles / machine.clock_hz, dtype=np.float64)


def version() -> str:
    """What the times depend on beside machine and seed."""
    return f"{TRUTH_VERSION}-{FEATURE_VERSION}"


class _Truth:
    """The formula, over the rows of one table; every method gives cycles or a factor, [points]."""

    def __init__(self, table: Floats, hardware: Target, machine: Machine, seed: int) -> None:
        self._table, self._hardware, self._machine = table, hardware, machine
        self._seed = seed
        self._main = np.maximum(self._column("main_threads"), 1.0)
        self._rest = np.maximum(self._column("rest_threads"), 1.0)
        self._lanes = machine.lanes * self._occupied()

    def cycles(self) -> Floats:
        near, far = self._near(), self._far()
        # Between 1, where nothing overlaps, and infinity, where the longest hides all others.
        p = 1.0 + 1.5 * self._own("overlap", 1.0)
        overlapped = (self._compute() ** p + near**p + far**p) ** (1.0 / p)
        return (overlapped + self._control()) * self._clock() + self._begun()

    def least(self) -> Floats:
        """The arithmetic alone, and waiting for it."""
        return self._column("cycles_compute") / self._machine.lanes

    def _column(self, name: str) -> Floats:
        return np.asarray(self._table[:, _COLUMN[name]], dtype=np.float64)

    def _own(self, name: str, value: float) -> float:
        """`value` as it is on this very machine."""
        at = uniform("coefficient", self._machine.name, self._seed, name)
        return float(value * SPREAD ** (2.0 * at - 1.0))

    def _compute(self) -> Floats:
        waiting = self._column("waiting") / self._main * self._own("latency", 1.1)
        cycles = np.maximum(self._column("cycles_compute"), waiting)
        over = np.maximum(self._column("main_register_share") - self._own("registers", 0.95), 0.0)
        spilled = 1.0 + self._own("spill", 2.0) * over
        decoded = self._own("decoded", 200.0)
        long = _rising(2.0 * np.log2(np.maximum(self._column("main_statements"), 1.0) / decoded))
        starved = 1.0 + self._own("starve", 0.35) * long
        return cycles * spilled * starved / self._lanes

    def _occupied(self) -> Floats:
        """Share of a GPU's lanes at work: threads that wait are covered by others on the same core,
        as many as its registers have room for, and by independent work of the same thread."""
        machine, blocks, threads = self._machine, *map(self._column, ("blocks", "block_threads"))
        if machine.lanes == 1:
            return np.ones(len(self._table))
        room = CORE_REGISTERS / (machine.warp * (self._column("main_registers") + 24.0))
        there = np.ceil(threads / machine.warp) * np.maximum(blocks / machine.cores, 1.0)
        waiting = np.minimum(np.minimum(room, MOST_WARPS), np.maximum(there, 1.0))
        ready = waiting * (1.0 + np.log2(np.maximum(self._column("main_accumulators"), 1.0)))
        covered = ready / (ready + self._own("cover", 8.0))
        return np.asarray(machine.busy(blocks, threads) * covered, dtype=np.float64)

    def _near(self) -> Floats:
        """Moving into L1."""
        ways = self._own("ways", 8.0)
        crowded = np.maximum(np.log2(np.maximum(self._column("main_aliased"), 1.0) / ways), 0.0)
        conflicts = 1.0 + self._own("conflict", 0.6) * crowded
        full = _rising(8.0 * (self._column("main_footprint_1_of_l1") - 0.75))
        filled = 1.0 + self._own("filled", 0.3) * full
        # Threads side by side that do not read side by side load lines for themselves.
        apart = np.clip(self._column("main_thread_stride") / 4.0, 1.0, 16.0) - 1.0
        lines = 1.0 + self._own("apart", 0.4) * apart
        moved = self._moved("l1", self._machine.into_l1)
        return np.asarray(moved * conflicts * filled * lines, dtype=np.float64)

    def _far(self) -> Floats:
        """Moving into L2 and L3, and finding pages."""
        into_l2 = self._moved("l2", self._machine.into_l2)
        alone = self._moved("l3", self._machine.into_l3)
        moved = self._column("main_traffic_l3") + self._column("rest_traffic_l3")
        together = moved / self._machine.memory_bytes_per_s * self._machine.clock_hz
        rounds = self._column("bodies") / np.maximum(self._column("main_inner"), 1.0) / self._main
        missing = np.maximum(self._column("main_pages") - self._own("pages", 64.0), 0.0)
        walks = self._own("walk", 7.0) * missing * rounds / self._lanes
        return into_l2 + np.maximum(alone, together) + walks

    def _moved(self, level: str, peak: float) -> Floats:
        """At the peak rate or below."""
        main, rest = (self._column(f"{part}_traffic_{level}") for part in ("main", "rest"))
        return (main / self._main + rest / self._rest) / peak * self._own(level, SPREAD)

    def _control(self) -> Floats:
        machine, bodies = self._machine, self._column("bodies") / self._main
        inner = np.maximum(self._column("main_inner"), 1.0)
        # The end of a short loop is foreseen.
        late = self._own("late", 14.0) * bodies / inner * (1.0 - np.exp(-inner / 24.0))
        straight = self._own("body", machine.body_cycles) * bodies
        scattered = self._own("scattered", machine.scattered_cycles) * self._column("scattered")
        scalar = self._own("scalar", machine.scalar_cycles) * self._column("rest_scalar")
        total = late + straight + scattered / self._main + scalar / self._rest
        return total / self._lanes

    def _clock(self) -> Floats:
        """More cores at work run slower."""
        share = np.log2(self._main) / np.log2(max(self._machine.cores, 2))
        return np.asarray(1.0 + self._own("turbo", 0.12) * share, dtype=np.float64)

    def _begun(self) -> Floats:
        """Teams, launches and the call itself."""
        more = 1.0 + 0.2 * np.log2(self._hardware.threads)
        team = self._own("team", self._machine.team_cycles) * more
        launch = self._own("launch", self._machine.launch_cycles)
        return np.asarray(team * self._column("teams") + launch + 50.0, dtype=np.float64)


def _rising(x: Floats) -> Floats:
    """From 0 to 1, half of it at 0."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -50.0, 50.0))), dtype=np.float64)


def _residual(table: Floats, machine: Machine, seed: int) -> Floats:
    """The logarithm of what no formula tells, [points]: value noise over pairs of features."""
    total = np.zeros(len(table))
    for pair in PAIRS:
        x, y = (np.log2(1.0 + np.maximum(table[:, _COLUMN[name]], 0.0)) / OCTAVES for name in pair)
        total += PAIR_EFFECT * _surface(key("residual", machine.name, seed, *pair), x, y)
    return total


def _surface(name: int, x: Floats, y: Floats) -> Floats:
    """A smooth surface through the heights of the knots around, in [-1, 1]."""
    row, column = (np.floor(v).astype(np.int64) for v in (x, y))
    u, v = (_eased(a - np.floor(a)) for a in (x, y))
    near = (1 - v) * knots(name, row, column) + v * knots(name, row, column + 1)
    far = (1 - v) * knots(name, row + 1, column) + v * knots(name, row + 1, column + 1)
    return np.asarray((1 - u) * near + u * far, dtype=np.float64)


def _eased(t: Floats) -> Floats:
    return t * t * (3.0 - 2.0 * t)
