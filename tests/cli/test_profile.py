"""`harness profile`, with a program that reports the times of its operators."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys

from tests.cli.project import Project, generic, one_test

PROGRAM = """
import json
def say(type_, value, unit):
    print("PyTorchObserver", json.dumps({"type": type_, "metric": "latency", "unit": unit, "values": [value] * 5}))
say("NET", 1.25, "ms")
say("conv #1", 700, "us")
say("conv #2", 300, "us")
say("add #1", 200, "us")
"""


def test_a_profile_measures_latency_and_operators_in_passes_of_their_own(project: Project) -> None:
    program = shlex.join((sys.executable, "-c", PROGRAM))
    spec = project.write("spec.json", generic(one_test("net", program, repeat=2)))
    table = project.folder / "operators.csv"

    done = project.harness("profile", spec, "--json", "--export", table)

    assert done.code == 0, done.stderr
    (profile,) = json.loads(done.stdout)["profiles"]
    assert [(each["kind"], each["share"]) for each in profile["operators"]] == [
        ("conv", 700 / 1200),
        ("conv", 300 / 1200),
        ("add", 200 / 1200),
    ]
    assert (profile["latency_us"], profile["traced_latency_us"], profile["overhead"]) == (1250, 1250, 0)
    summary = next(line for line in done.stderr.splitlines() if line.startswith("2 ok"))
    assert f"; each benchmark in two passes, latency and operators; results: {done.results}" in summary
    results = done.read()
    assert [(each["benchmark"]["identifier"], each["benchmark"]["operators"]) for each in results] == [
        ("net", False),
        ("net-operators", True),
    ]
    assert len({each["benchmark"]["digest"] for each in results}) == 2, "two series"
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["operator"], row["order"], row["median_us"]) for row in rows] == [
        ("conv #1", "0", "700.0"),
        ("conv #2", "1", "300.0"),
        ("add #1", "2", "200.0"),
    ]
    commands = {shlex.join(each["reproduction"]["command"]) for each in results}
    assert commands == {f"harness profile -b {spec}"}
    assert {each["reproduction"]["benchmark"] for each in results} == {"m/net"}


def test_a_program_without_operators_is_said_to_have_none(project: Project) -> None:
    program = shlex.join((sys.executable, "-c", "\n".join(PROGRAM.splitlines()[:5])))
    spec = project.write("spec.json", generic(one_test("net", program)))

    done = project.harness("profile", spec)

    assert "m/net on" in done.stdout
    assert done.stdout.splitlines()[1] == "failed: the program reported no operator times"
    assert "1 ok, 1 failed" in done.stderr
    assert (done.code, done.outcomes()) == (4, {"net": "ok", "net-operators": "failed"})


def test_a_script_gets_both_passes(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("net", shlex.join((sys.executable, "-c", PROGRAM)))))
    script = "import sys, harness; print([r.benchmark.identifier for r in harness.profile(sys.argv[1])])"

    done = subprocess.run(
        (sys.executable, "-c", script, str(spec)),
        capture_output=True,
        text=True,
        env=project.environment,
        cwd=project.folder,
        check=True,
        timeout=120,
    )

    assert done.stdout.splitlines()[-1] == "['net', 'net-operators']"
