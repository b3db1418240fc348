"""Which schedules are served for a workload."""

from __future__ import annotations

from sqlalchemy import select

from db.schema import ScheduleRow
from server.problems import Problem
from server.schemas import BestOut
from server.services.service import Service
from server.services.views import schedule_view
from tuner.target import target as target_of


def best_of(service: Service, workload: str, target: str | None, k: int) -> BestOut:
    """Up to `k` schedules, fastest first; none if it was not tuned for the target.

    Raises TargetError for an unknown target, Problem where it is omitted and there are several.
    """
    names = [target_of(target).name] if target is not None else _tuned_for(service, workload)
    if len(names) > 1:
        raise Problem(
            "invalid-request", 422, f"this workload is tuned for several targets, name one: "
            f"{', '.join(names)}", pointer="/target",
        )  # fmt: skip
    found = [item for name in names for item in service.log.best(workload, name, k)]
    return BestOut(workload=workload, items=[schedule_view(item) for item in found])


def _tuned_for(service: Service, workload: str) -> list[str]:
    query = select(ScheduleRow.target).where(ScheduleRow.workload == workload).distinct()
    with service.database.read() as session:
        return list(session.scalars(query.order_by(ScheduleRow.target)))
