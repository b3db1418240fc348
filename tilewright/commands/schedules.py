"""`tilewright best`, `show`, `source` and `records`: what was found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tilewright import output, units
from tilewright.client import HttpClient, Json
from tilewright.commands import options
from tilewright.diffs import print_diffs

ScheduleId = Annotated[
    str, typer.Argument(help="The schedule's id, as `tilewright best` shows it.")
]


def best(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    *,
    op: options.Op = None,
    sizes: options.Sizes = "",
    dtype: options.DTypeName = "f32",
    constants: options.Constants = "",
    program: options.ProgramFile = None,
    workload: Annotated[str | None, typer.Option(help="A workload's hash: w1:…")] = None,
    target: options.TargetName = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Schedules to show at most.")] = 1,
    as_json: options.JsonFlag = False,
) -> None:
    """Show the best verified schedules of a workload."""
    if workload is not None and (op is not None or program is not None):
        raise options.UsageError("give one of --workload, --op and --program")
    with options.connect(context) as client:
        if workload is not None:
            found = client.get("/v1/schedules/best", workload=workload, target=target, k=k)
        else:
            body = options.workload(op, sizes, dtype, program, constants)
            found = client.post("/v1/schedules/best", body | _target(target) | {"k": k})
    if as_json:
        output.print_json(found["items"])
    elif not found["items"]:
        raise options.UsageError("no verified schedule yet: `tilewright tune` searches for one")
    else:
        for item in found["items"]:
            on = output.target_name(item["target"])
            output.print_lines((f"{item['id']} on {on}", f"  {output.best_line(item)}"))


def _target(name: str | None) -> Json:
    return {} if name is None else {"target": name}


def show(
    context: typer.Context,
    schedule: ScheduleId,
    diff: Annotated[
        bool, typer.Option("--diff", help="What each step changed, side by side on a terminal.")
    ] = False,
    as_json: options.JsonFlag = False,
) -> None:
    """Show a schedule's program, as written and after each step."""
    with options.connect(context) as client:
        asked = {"diff": "true"} if diff else {}
        found = client.get(f"/v1/schedules/{schedule}/program", **asked)
    if as_json:
        output.print_json(found)
    elif diff:
        print_diffs(found, output.console())
    else:
        sys.stdout.write(stages_text(found))


def stages_text(found: Json) -> str:
    """The program after every step, each under the step that made it."""
    names = ", ".join(f"{new} is {old}" for new, old in found["names"].items())
    return f"# {names}\n" + "".join(
        f"\n# {stage['step'] or 'as written'}\n{stage['program'].rstrip()}\n"
        for stage in found["stages"]
    )


def source(
    context: typer.Context,
    schedule: ScheduleId,
    to: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Print the generated C of a schedule; its header says how to compile it."""
    with options.connect(context) as client:
        text = source_text(client, schedule)
    if to is None:
        sys.stdout.write(text)
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise options.UsageError(f"cannot write {to}: {error.strerror}") from error


def source_text(client: HttpClient, schedule: str) -> str:
    """The C text that the service keeps for a schedule."""
    return client.text(f"/v1/schedules/{schedule}/source")


def records(
    context: typer.Context,
    workload: Annotated[str | None, typer.Option(help="A workload's hash: w1:…")] = None,
    target: options.TargetName = None,
    job: Annotated[str | None, typer.Option(help="A job's id.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Records to list at most.")] = 20,
    as_json: options.JsonFlag = False,
) -> None:
    """List records of the tuning log: every trial, whatever its outcome."""
    with options.connect(context) as client:
        query = {"workload": workload, "target": target, "job": job}
        found = list(client.pages("/v1/records", limit, **query))
    if as_json:
        output.print_json(found)
        return
    output.print_table(
        (">number", "workload", "target", "purpose", "outcome", ">median", "detail"),
        (_record_row(record) for record in found),
    )


def _record_row(record: Json) -> tuple[str, ...]:
    measurement = record["measurement"]
    median = measurement["median_s"]
    return (
        str(record["sequence"]),
        record["workload"],
        output.target_name(record["target"]),
        record["purpose"],
        measurement["outcome"],
        "" if median is None else units.seconds(median),
        next(iter(measurement["detail"].splitlines()), ""),
    )
