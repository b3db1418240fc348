"""`tilewright tune`: submit a job and follow it."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewright import output
from tilewright.client import HttpClient, Json
from tilewright.commands import options
from tilewright.follow import follow


def tune(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    *,
    op: options.Op = None,
    sizes: options.Sizes = "",
    dtype: options.DTypeName = "f32",
    constants: options.Constants = "",
    program: options.ProgramFile = None,
    target: options.TargetName = None,
    trials: Annotated[int, typer.Option(help="Candidates to measure at most.")] = 128,
    seconds: Annotated[float | None, typer.Option(help="Seconds to run at most.")] = None,
    strategy: Annotated[
        str, typer.Option(help="evolutionary, random or exhaustive.")
    ] = "evolutionary",
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    more: Annotated[
        bool, typer.Option("--more", help="Search on where it was tuned before.")
    ] = False,
    as_json: options.JsonFlag = False,
) -> None:
    """Submit a job, show its progress and the best schedule found.

    Ctrl-C stops watching; the job goes on.
    """
    budget = {"trials": trials} | ({} if seconds is None else {"seconds": seconds})
    body: Json = {
        "workloads": [options.workload(op, sizes, dtype, program, constants)],
        "budget": budget,
        "strategy": strategy,
        "seed": seed,
        "more": more,
    }
    if target is not None:
        body["target"] = target
    with options.connect(context) as client:
        job = watch(client, client.post("/v1/jobs", body))
    if as_json:
        output.print_json(job)
    else:
        output.print_job(job)
        print_where(job)
    if job["state"] != "done":
        raise typer.Exit(1)


def watch(client: HttpClient, job: Json) -> Json:
    """Follow a job on stderr; on Ctrl-C say how it goes on, and exit with status 130."""
    console = output.console(stderr=True)
    console.print(f"job {job['id']} submitted to {client.url}")
    try:
        return follow(client, job, console)
    except KeyboardInterrupt:
        console.print(
            f"job {job['id']} goes on running. Look at it: tilewright jobs show {job['id']}\n"
            f"Stop it: tilewright jobs cancel {job['id']}"
        )
        raise typer.Exit(130) from None


def print_where(job: Json) -> None:
    """Say where the schedules and the generated code can be read."""
    for workload in job["workloads"]:
        if workload.get("best"):
            name = workload["best"]["id"]
            output.console().print(
                f"\nthe program after each step: tilewright show {name}"
                f"\nthe generated C:             tilewright source {name}"
            )
