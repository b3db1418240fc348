"""The README says what is there."""

import json
import re
from pathlib import Path

import pytest

from server.schemas import BestIn, JobIn
from server.services.workloads import resolve
from tilewright.cli import app
from tilewright.commands.options import program_text
from tilewright.demo import WORKLOADS
from tuner.frontends.text import parse
from tuner.workload.workload import admit

README = (Path(__file__).parents[2] / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def _workloads(bodies: list[str]) -> set[str]:
    jobs = [JobIn.model_validate_json(body) for body in bodies]
    return {resolve(item).logged.hash for job in jobs for item in job.workloads}


def test_its_curl_commands_are_the_demo_workloads() -> None:
    bodies = re.findall(r"/v1/jobs --json '(.*?)'", README, re.DOTALL)
    assert len(bodies) == 4
    assert _workloads(bodies) == _workloads([json.dumps({"workloads": WORKLOADS})])


def test_its_question_for_the_best_is_understood() -> None:
    (body,) = re.findall(r"/v1/schedules/best --json '(.*?)'", README)
    assert BestIn.model_validate_json(body).op == "matmul"


def test_its_program_file_is_the_demo_program(tmp_path: Path) -> None:
    text = next(text for text in PYTHON if "def dense_relu" in text)
    path = tmp_path / "dense_relu.py"
    path.write_text(text)
    demo = next(item["program"] for item in WORKLOADS if "program" in item)
    assert admit(parse(program_text(path))).hash == admit(parse(demo)).hash


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"^ {4}tilewright (\w+)", README, re.MULTILINE)))
)
def test_its_commands_exist(command: str) -> None:
    callbacks = [item.callback for item in app.registered_commands]
    names = {callback.__name__ for callback in callbacks if callback}
    assert command in names | {group.name for group in app.registered_groups}
