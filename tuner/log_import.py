"""Takes lines of an exported log into a log: batch by batch, each whole or not at all.

A line that cannot be taken in is told with its number and its reason, and left out. What is there
already is counted and left as it is, so that a file may be imported again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tuner.errors import LineRefused, NotFound, TilewrightError
from tuner.frontends.text import parse
from tuner.ir.show import show
from tuner.log import LoggedWorkload, RecordFilter, TuningLog, same_trial
from tuner.log_lines import read_line
from tuner.record import Record
from tuner.workload.workload import admit

#: A longer line is refused.
MAX_LINE_BYTES = 1 << 20
#: A batch ends with the line that fills it.
BATCH_LINES, BATCH_BYTES = 500, 4 << 20
#: Refused lines that are told one by one.
MAX_TOLD = 1000


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that was left out."""

    #: counted from 1
    line: int
    reason: str


@dataclass(slots=True)
class Imported:
    """What came of an import so far."""

    lines: int = 0
    workloads_added: int = 0
    workloads_known: int = 0
    records_added: int = 0
    records_known: int = 0
    lines_refused: int = 0
    #: the first of them
    refused: list[Refused] = field(default_factory=list)


@dataclass(slots=True)
class _Batch:
    """What goes into the log together."""

    workloads: dict[str, LoggedWorkload] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)


class LineSplitter:
    """Cuts a stream of bytes into batches of numbered lines; holds no more than one of each. A line
    that is too long comes as None."""

    def __init__(self) -> None:
        self._line, self._batch = bytearray(), list[tuple[int, bytes | None]]()
        self._number, self._bytes, self._too_long = 0, 0, False

    def feed(self, chunk: bytes) -> Iterator[list[tuple[int, bytes | None]]]:
        """The batches that `chunk` completes."""
        *ends, rest = chunk.split(b"\n")
        for piece in ends:
            self._extend(piece)
            yield from self._end_line()
        self._extend(rest)

    def end(self) -> Iterator[list[tuple[int, bytes | None]]]:
        """What is left."""
        if self._line or self._too_long:
            yield from self._end_line()
        if self._batch:
            yield self._batch

    def _extend(self, piece: bytes) -> None:
        self._too_long = self._too_long or len(self._line) + len(piece) > MAX_LINE_BYTES
        if self._too_long:
            self._line.clear()
        else:
            self._line += piece

    def _end_line(self) -> Iterator[list[tuple[int, bytes | None]]]:
        self._number += 1
        self._batch.append((self._number, None if self._too_long else bytes(self._line)))
        self._bytes += len(self._line)
        self._line.clear()
        self._too_long = False
        if len(self._batch) >= BATCH_LINES or self._bytes >= BATCH_BYTES:
            batch, self._batch, self._bytes = self._batch, [], 0
            yield batch


class LogImport:
    """One import into one log."""

    def __init__(self, log: TuningLog) -> None:
        self._log = log
        #: hashes that are in the log
        self._known: set[str] = set()
        self.came = Imported()

    def take(self, batch: list[tuple[int, bytes | None]]) -> None:
        """Reads numbered lines and adds what is new, in one transaction of the log."""
        read = [(number, self._read(number, line)) for number, line in batch]
        ids = frozenset(entry.id for _, entry in read if isinstance(entry, Record))
        there = {r.id: r for r in self._log.records(RecordFilter(ids=ids))} if ids else {}
        new = _Batch()
        for number, entry in read:
            try:
                if isinstance(entry, Record):
                    self._record(entry, there, new)
                elif entry is not None:
                    self._workload(entry, new)
            except TilewrightError as error:
                self._refuse(number, str(error))
        self._log.append(list(new.records.values()), list(new.workloads.values()))
        self._known |= new.workloads.keys()
        self.came.lines += len(batch)
        self.came.records_added += len(new.records)
        self.came.workloads_added += len(new.workloads)

    def _read(self, number: int, line: bytes | None) -> LoggedWorkload | Record | None:
        try:
            if line is None:
                raise LineRefused(f"longer than {MAX_LINE_BYTES} bytes")
            return read_line(line) if line.strip() else None
        except LineRefused as error:
            self._refuse(number, str(error))
            return None

    def _refuse(self, number: int, reason: str) -> None:
        self.came.lines_refused += 1
        if len(self.came.refused) < MAX_TOLD:
            self.came.refused.append(Refused(number, reason.partition("\n")[0]))

    def _record(self, record: Record, there: dict[str, Record], new: _Batch) -> None:
        older = there.get(record.id) or new.records.get(record.id)
        if older is not None and not same_trial(older, record):
            raise LineRefused(f"record {record.id!r} is in the log with another content")
        if older is not None:
            self.came.records_known += 1
        elif record.workload in new.workloads or self._is_known(record.workload):
            new.records[record.id] = record
        else:
            raise LineRefused(
                f"record {record.id!r}: workload {record.workload!r} is unknown; "
                "its line has to come first"
            )

    def _workload(self, workload: LoggedWorkload, new: _Batch) -> None:
        if workload.hash in new.workloads or self._is_known(workload.hash):
            self.came.workloads_known += 1
            return
        # A text under a hash that is not its own would be tuned in place of the right one.
        admitted = admit(parse(workload.text), workload.op, workload.sizes)
        if admitted.hash != workload.hash:
            raise LineRefused(f"workload {workload.hash!r} is {admitted.hash} to this version")
        new.workloads[workload.hash] = replace(
            workload, text=show(admitted.program), flops=admitted.flops,
            io_bytes=admitted.io_bytes,
        )  # fmt: skip

    def _is_known(self, hash: str) -> bool:
        if hash not in self._known:
            try:
                self._log.workload(hash)
            except NotFound:
                return False
            self._known.add(hash)
        return True
