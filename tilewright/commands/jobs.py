"""`tilewright jobs`: list, show and cancel."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright import output, units
from tilewright.commands import options

app = typer.Typer(no_args_is_help=True, help="List, show and cancel jobs.")

JobId = Annotated[str, typer.Argument(help="The job's id.")]


@app.command("list")
def list_jobs(
    context: typer.Context,
    state: Annotated[str | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Jobs to list at most.")] = 20,
    as_json: options.JsonFlag = False,
) -> None:
    """List jobs, the newest first."""
    with options.connect(context) as client:
        jobs = list(client.pages("/v1/jobs", limit, state=state))
    if as_json:
        output.print_json(jobs)
        return
    if not jobs:
        output.print_lines(["no jobs"])
        return
    output.print_table(
        ("job", "state", ">trials", ">failed", "workloads", "created"),
        (
            (
                job["id"],
                job["state"],
                str(job["trials"]["done"]),
                str(job["trials"]["failed"]),
                ", ".join(units.label(workload) for workload in job["workloads"]),
                job["created_at"],
            )
            for job in jobs
        ),
    )


@app.command()
def show(context: typer.Context, job: JobId, as_json: options.JsonFlag = False) -> None:
    """Show a job's state and what it has found."""
    with options.connect(context) as client:
        found = client.get(f"/v1/jobs/{job}")
    if as_json:
        output.print_json(found)
    else:
        output.print_job(found)


@app.command()
def cancel(context: typer.Context, job: JobId, as_json: options.JsonFlag = False) -> None:
    """Cancel a job; its records stay."""
    with options.connect(context) as client:
        found = client.post(f"/v1/jobs/{job}/cancel")
    if as_json:
        output.print_json(found)
    else:
        output.console().print(f"job {found['id']}: {found['state']}")
