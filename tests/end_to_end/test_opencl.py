"""A job on OpenCL, from its submission to a checked schedule, as on any other target."""

import json

import pytest

from tests.conftest import require_opencl
from tests.end_to_end.running import Running
from tests.end_to_end.test_up import run_command


@pytest.mark.parametrize(
    ("op", "sizes"),
    [
        ("matmul", "m=48,n=40,k=33"),
        ("softmax", "rows=64,cols=50"),
        ("conv2d", "c=4,h=10,w=11,f=6,kh=3,kw=3,pad=1"),
    ],
)
def test_a_job_is_tuned_and_checked(service: Running, op: str, sizes: str) -> None:
    require_opencl()
    what = ("--op", op, "--sizes", sizes)
    options = ("--target", "opencl-pocl", "--trials", "4", "--seconds", "200", "--json")
    tuned = run_command(service, "tune", *what, *options)
    assert tuned.returncode == 0, tuned.stderr
    job = json.loads(tuned.stdout)
    assert (job["state"], job["trials"]["failed"]) == ("done", 0)
    best = job["workloads"][0]["best"]
    assert best["target"] == "opencl-pocl"
    assert best["verified"]
    text = run_command(service, "source", best["id"]).stdout
    assert "__kernel void tw_" in text
    assert {step["step"] for step in best["steps"]["steps"]} >= {"split", "bind"}
