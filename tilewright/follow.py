"""Follow a job to its end: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from tilewright import units
from tilewright.client import Event, HttpClient, Json, ServiceError
from tilewright.operations import RECONNECT_S
from tilewright.results import ENDED

#: seconds between two looks at the job, and between two plain lines
REFRESH_S = 0.5
PLAIN_LINE_S = 5.0


class JobView:
    """What is known of a running job, and how it looks."""

    def __init__(self, job: Json, clock: Callable[[], float] = time.monotonic) -> None:
        self.job = job
        self.note = ""
        self._clock = clock
        self._best_s: dict[str, float] = {}
        self._running_since: float | None = None
        self.update(job)

    def update(self, job: Json) -> None:
        """Take a newer state of the job."""
        self.job = job
        self.note = ""
        if self._running_since is None and job["state"] == "running":
            self._running_since = self._clock()

    def take(self, event: Event) -> None:
        """Take an event; a trial may be the fastest of its workload so far."""
        if event.kind == "trial" and event.data["outcome"] == "ok":
            workload, median_s = event.data["workload"], event.data["median_s"]
            self._best_s[workload] = min(median_s, self._best_s.get(workload, median_s))

    def seconds_left(self) -> float | None:
        """Until the budget is spent: in seconds or, at the pace so far, in trials."""
        if self._running_since is None:
            return None
        elapsed = self._clock() - self._running_since
        left = []
        if self.job["budget"].get("seconds"):
            left.append(self.job["budget"]["seconds"] - elapsed)
        total, ended = self.job["budget"].get("trials"), self._ended()
        if total and ended:
            left.append(elapsed / ended * (total - ended))
        return max(0.0, min(left)) if left else None

    def __rich__(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, show_header=False)
        for workload in self.job["workloads"]:
            table.add_row(*self._workload(workload))
        total = self.job["budget"].get("trials") or max(1, self._ended())
        bar = Table.grid(padding=(0, 2))
        bar.add_row(ProgressBar(total=total, completed=self._ended(), width=40), self.line())
        return Group(table, bar)

    def line(self) -> str:
        """Trials, failures and time left, in one line."""
        total = self.job["budget"].get("trials")
        parts = [f"{self._ended()}{f'/{total}' if total else ''} trials"]
        if self.job["trials"]["failed"]:
            parts.append(f"{self.job['trials']['failed']} failed")
        parts.append(self.note or self._phase())
        return ", ".join(parts)

    def _phase(self) -> str:
        """How long it takes, or what is done where no one can tell."""
        left = self.seconds_left()
        if left is None or self.job["state"] in ENDED:
            return str(self.job["state"])
        if round(left) == 0 or self._ended() == self.job["budget"].get("trials"):
            return "play-off"
        return f"{units.clock(left)} left"

    def plain_line(self) -> str:
        """Everything of the view in one line, for output that is no terminal."""
        bests = [
            f"{workload['name']} {units.seconds(best_s)}"
            for workload in self.job["workloads"]
            if (best_s := self._best_so_far(workload))
        ]
        return self.line() + (f"; best so far: {', '.join(bests)}" if bests else "")

    def _workload(self, workload: Json) -> tuple[str, ...]:
        trials, best_s = workload["trials"], self._best_so_far(workload)
        return (
            units.label(workload),
            f"{trials['done']} trials",
            f"{trials['failed']} failed" if trials["failed"] else "",
            f"best {units.seconds(best_s)}" if best_s else "",
            units.rate(workload["best"]) if workload["best"] else "",
        )

    def _best_so_far(self, workload: Json) -> float | None:
        """Seconds: of the play-off's winner, before there is one of the fastest trial."""
        if workload["best"]:
            return float(workload["best"]["median_s"])
        return self._best_s.get(workload["hash"])

    def _ended(self) -> int:
        return int(self.job["trials"]["done"])


def follow(client: HttpClient, job: Json, console: Console) -> Json:
    """Show the job's progress on `console` until it has ended; its last state."""
    view = JobView(job)
    with _shown(view, console) as plain:
        for _ in _changes(client, view):
            plain()
    return view.job


def _changes(client: HttpClient, view: JobView) -> Iterator[None]:
    """Keep `view` fresh; yields at each look. Survives a service that restarts."""
    path = f"/v1/jobs/{view.job['id']}"
    after, looked, lost_at = 0, 0.0, None
    while view.job["state"] not in ENDED:
        try:
            for event in client.events(f"{path}/events", after):
                after = max(after, event.number)
                view.take(event)
                if event.kind == "done" or time.monotonic() - looked > REFRESH_S:
                    view.update(client.get(path))
                    looked = time.monotonic()
                    yield
            view.update(client.get(path))
            lost_at = None
        except ServiceError as error:
            lost_at = lost_at or time.monotonic()
            if error.status or time.monotonic() - lost_at > RECONNECT_S:
                raise
            view.note = "the service is away, trying again"
        yield
        time.sleep(REFRESH_S)


@contextlib.contextmanager
def _shown(view: JobView, console: Console) -> Iterator[Callable[[], None]]:
    """A live view on a terminal; elsewhere what the caller calls prints a line now and then."""
    if console.is_terminal:
        with Live(view, console=console, refresh_per_second=4):
            yield lambda: None
        return
    printed = -PLAIN_LINE_S

    def line() -> None:
        nonlocal printed
        if time.monotonic() - printed >= PLAIN_LINE_S:
            printed = time.monotonic()
            console.print(view.plain_line())

    yield line
