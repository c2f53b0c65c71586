"""Specifications of FAI-PEP from end to end: what was the purpose of a run is in its result."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.cli.project import Project, observe, one_test

pytestmark = pytest.mark.slow

MODEL = {"name": "net", "format": "none"}
COMPARE = """
import json, sys
hits = [1, 0, 1, 1]
percent = 100 * sum(hits) / len(hits)
entry = {"type": "net", "metric": "percent_of_top1_corrects", "unit": "percent", "values": hits}
with open(sys.argv[1], "w") as file:
    json.dump({"percent": percent}, file)
print(json.dumps(entry | {"summary": {"num_runs": len(hits), "p50": percent, "mean": percent}}))
"""
AGGREGATE = """
import json, sys
shares = [json.load(open(file))["percent"] for file in sys.argv[1:]]
total = sum(shares) / len(shares)
entry = {"type": "net", "metric": "total_percent_of_top1_corrects", "unit": "percent", "values": shares}
print("Caffe2Observer  " + json.dumps(entry | {"summary": {"num_runs": len(shares), "p50": total, "mean": total}}))
"""


def step(code: str, *arguments: str) -> dict[str, list[str]]:
    return {"commands": [shlex.join((sys.executable, "-c", code, *arguments))]}


def test_the_accuracy_that_the_last_step_prints_is_the_result_of_a_silent_program(project: Project) -> None:
    test = one_test("accuracy", "true", postprocess=step(COMPARE, "{HOSTDIR}/{INDEX}.json"))
    model = {"name": "net", "format": "caffe2", "repeat": 2}
    model["postprocess"] = step(AGGREGATE, "{HOSTDIR}/0.json", "{HOSTDIR}/1.json")
    spec = project.write("spec.json", {"model": model, "tests": [{**test, "metric": "accuracy"}]})
    done = project.harness("-b", spec)
    assert done.code == 0, done.stderr
    (result,) = done.read()
    (metric,) = result["metrics"]
    assert (metric["name"], metric["unit"]) == ("net total_percent_of_top1_corrects", "percent")
    assert metric["summary"]["p50"] == 75
    assert result["notes"] == []
    logs = {path.name: path.read_text() for path in done.results.rglob("logs/*.txt")}
    assert json.loads(logs["launch-1-postprocess.stdout.txt"])["summary"]["mean"] == 75


def test_a_test_with_an_external_power_meter_is_skipped_with_the_reason(project: Project) -> None:
    power = {"identifier": "p", "metric": "power", "commands": ["exit 9"], "collection_time": 310, "voltage": 4.2}
    delay = one_test("d", observe(1, 2, 3))
    spec = project.write("spec.json", {"model": MODEL, "tests": [power, delay]})
    done = project.harness("-b", spec)
    assert done.code == 0, done.stderr
    assert done.outcomes() == {"p": "skipped", "d": "ok"}
    (reason,) = [result["reason"] for result in done.read() if result["outcome"] == "skipped"]
    assert "Monsoon power meter" in reason
    alone = project.harness("-b", project.write("alone.json", {"model": MODEL, "tests": [power]}))
    assert alone.code == 4
