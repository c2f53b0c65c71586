"""What FAI-PEP's info JSON and its flags say about regressions reaches the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.project import Outcome, Project, generic, observe, one_test

pytestmark = pytest.mark.slow

COMMITS = [{"commit": "bbb", "commit_time": 6}, {"commit": "aaa", "commit_time": 5}]
LOAD = """print('PyTorchObserver {"type": "RUN", "metric": "load_time", "unit": "us", "value": "7"}')"""


def measured(project: Project, *flags: str, **info: object) -> Outcome:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6, 7, before=LOAD)), one_test("b", "false")))
    program = Path("/bin/true")
    side = {"commit": "bbb", "commit_time": 6, "programs": {"program": {"location": str(program)}}}
    return project.harness("-b", spec, "--info", json.dumps({"treatment": side, **info}), *flags)


def marks(done: Outcome) -> dict[str, bool | None]:
    return {metric["name"]: metric["regressed"] for result in done.read() for metric in result["metrics"]}


def test_the_info_json_names_regressions_and_the_kind_of_run(project: Project) -> None:
    done = measured(project, run_type="regress", regressed_types=["NET"], regression_commits=COMMITS, meta={"a": 1})
    assert marks(done) == {"NET latency": True, "RUN load_time": False}, done.stderr
    for result in done.read():
        assert result["run_type"] == "regress"
        assert result["meta"] == {"a": 1, "regressed_types": ["NET"], "regression_commits": COMMITS}


def test_the_flag_overrides_the_info_json(project: Project) -> None:
    done = measured(project, "--regressed_types", "RUN load_time", "--run_type", "verify", regressed_types=["NET"])
    assert marks(done) == {"NET latency": False, "RUN load_time": True}, done.stderr
    assert {result["run_type"] for result in done.read()} == {"verify"}


def test_without_flag_and_info_no_mark_looks_like_a_verdict(project: Project) -> None:
    done = measured(project)
    assert set(marks(done).values()) == {None}
    assert all(result["meta"] == {} for result in done.read())
