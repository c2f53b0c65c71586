from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.project import Project, command, generic, observe, one_test
from tests.processes import wait_until

pytestmark = pytest.mark.slow

LATENCY = """#!{python}
import json, random, sys
generator = random.Random(hash((open(__file__).read(), __import__("os").getpid())))
for _ in range(12):
    value = {scale} * (1000 + generator.gauss(0, {noise}))
    print("PyTorchObserver", json.dumps(dict(type="NET", metric="{metric}", unit="{unit}", value=str(value))))
{after}
"""
FEW = ("--pairs", "25", "--seed", "7")
WHOLE_BUDGET = ("--precision", "0.0000001")
QUOTED_RANDOM = "'$((1000 + RANDOM % 9))'"
"""A number by chance, between two quoted parts of a line of a shell."""


def runner(
    project: Project,
    name: str,
    *,
    scale: float = 1.0,
    noise: float = 3.0,
    metric: str = "latency",
    unit: str = "us",
    after: str = "",
) -> Path:
    """A program that reports figures as if it had measured them: what is tested here is what is made of them."""
    path = project.folder / name
    text = LATENCY.format(python=sys.executable, scale=scale, noise=noise, metric=metric, unit=unit, after=after)
    path.write_text(text + f"# {name}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("a", "{program}")))


def sides(control: Path, treatment: Path) -> tuple[str, ...]:
    return ("--control-program", str(control), "--treatment-program", str(treatment))


def test_a_slower_treatment_is_a_regression_and_exit_code_1(project: Project, spec: Path) -> None:
    done = project.harness(
        "compare", "-b", spec, *sides(runner(project, "old"), runner(project, "new", scale=1.05)), *FEW
    )
    assert done.code == 1, done.stderr
    (result,) = done.read()
    comparison = result["comparison"]
    assert comparison["verdict"] == "regression"
    assert comparison["low"] < 0.05 < comparison["high"]
    assert comparison["parameters"]["seed"] == 7
    assert "regression" in done.stdout


def test_a_faster_treatment_is_an_improvement_and_not_a_failure(project: Project, spec: Path) -> None:
    done = project.harness(
        "compare", "-b", spec, *sides(runner(project, "old"), runner(project, "new", scale=0.95)), *FEW
    )
    assert done.code == 0, done.stderr
    assert done.read()[0]["comparison"]["verdict"] == "improvement"


def test_a_higher_throughput_is_an_improvement(project: Project, spec: Path) -> None:
    old = runner(project, "old", metric="throughput", unit="img/s")
    new = runner(project, "new", metric="throughput", unit="img/s", scale=1.05)
    done = project.harness("compare", "-b", spec, *sides(old, new), *FEW)
    assert done.read()[0]["comparison"]["verdict"] == "improvement"


def test_equal_programs_in_different_files_show_no_change(project: Project, spec: Path) -> None:
    done = project.harness(
        "compare", "-b", spec, *sides(runner(project, "old"), runner(project, "new")), "--pairs", "200"
    )  # by chance 60 are too few now and then, and no more are made than are needed
    assert done.code == 0, done.stderr + done.stdout
    assert done.read()[0]["comparison"]["verdict"] == "no change"


def test_a_run_says_that_no_command_starts_the_program(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6, 7))))
    program = runner(project, "old")
    done = project.harness("-b", spec, "--program", program)
    assert done.code == 0
    assert f"! --program {program} is not used: no command starts it; write {{program}} where one should" in done.stderr
    assert "is not used" not in project.harness("-b", spec).stderr


def test_programs_that_no_command_starts_are_not_compared(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6, 7))))
    done = project.harness("compare", "-b", spec, *sides(runner(project, "old"), runner(project, "new", scale=1.2)))
    assert done.code == 4
    (result,) = done.read()
    assert result["reason"] == "no command of it starts the programs that are compared: both sides would run the same"
    assert "{program}" in result["hint"]


def test_identical_programs_are_not_measured(project: Project, spec: Path) -> None:
    program = runner(project, "old")
    done = project.harness("compare", "-b", spec, *sides(program, program))
    assert done.code == 0
    comparison = done.read()[0]["comparison"]
    assert comparison["identical"]
    assert comparison["pairs"] == []


def test_a_budget_that_is_too_small_gives_undecided_and_exit_code_5(project: Project, spec: Path) -> None:
    programs = sides(runner(project, "old"), runner(project, "new"))
    done = project.harness("compare", "-b", spec, *programs, "--pairs", "4")
    assert done.code == 5
    assert done.read()[0]["comparison"]["verdict"] == "undecided"


def test_equal_scripts_are_measured_where_they_read_other_files_beside_themselves(project: Project, spec: Path) -> None:
    scripts = []
    for name, figure in (("old", 1000), ("new", 1100)):
        (project.folder / name).mkdir()
        runner(project, f"{name}/figures", scale=figure / 1000)
        script = project.write(f"{name}/run.sh", '#!/bin/sh\nexec "$(dirname "$0")/figures"\n')
        script.chmod(0o755)
        scripts.append(script)
    done = project.harness("compare", "-b", spec, *sides(*scripts), *FEW)
    assert done.code == 1, done.stdout + done.stderr
    comparison = done.read()[0]["comparison"]
    assert comparison["difference"] == pytest.approx(0.1, abs=0.02)
    assert "run.sh is a script, which may read files beside itself, so it is used where it is" in done.stderr


def test_both_sides_differ_only_in_the_program(project: Project) -> None:
    """Programs are copied to paths of equal length; scripts, which need what is beside them, are not."""
    shell = Path(shutil.which("bash") or "/bin/sh").resolve().read_bytes()
    for name, ending in (("old", b""), ("a-longer-name", b"\0")):
        program = project.folder / name
        program.write_bytes(shell + ending)
        program.chmod(0o755)
    line = "PyTorchObserver " + json.dumps({"type": "NET", "metric": "latency", "unit": "us", "value": "$RANDOM"})
    command_line = shlex.join(("{program}", "-c", f"echo {shlex.quote(line).replace('$RANDOM', QUOTED_RANDOM)}"))
    spec = project.write("spec.json", generic(one_test("a", command_line, iter=1), repeat=1))
    programs = sides(project.folder / "old", project.folder / "a-longer-name")
    done = project.harness("compare", "-b", spec, *programs, *FEW, *WHOLE_BUDGET)
    (result,) = done.read()
    ours, control_commands = (
        [launch["commands"][0] for launch in result[key]] for key in ("launches", "control_launches")
    )
    assert {len(word) for words in ours for word in words} == {
        len(word) for words in control_commands for word in words
    }
    assert {str(launch["env"]) for key in ("launches", "control_launches") for launch in result[key]} == {"{}"}
    orders = {pair["control_first"] for pair in result["comparison"]["pairs"]}
    assert orders == {True, False}, "the coin never turned"


def test_raw_samples_of_both_sides_and_differences_under_the_old_names_are_kept(project: Project, spec: Path) -> None:
    done = project.harness(
        "compare", "-b", spec, *sides(runner(project, "old"), runner(project, "new", scale=1.1)), *FEW
    )
    latency = done.read()[0]["metrics"][0]
    side = latency["control"]
    assert len(side["control_values"]) == len(latency["samples"]) > 0
    difference = latency["summary"]["mean"] - side["control_summary"]["mean"]
    assert side["diff_summary"]["mean"] == pytest.approx(difference)
    assert side["diff_summary"]["p90"] == pytest.approx(latency["summary"]["p90"] - side["control_summary"]["p10"])


def test_a_treatment_that_keeps_failing_is_a_failure_without_a_verdict(project: Project, spec: Path) -> None:
    broken = runner(project, "new", after="raise SystemExit('broken')")
    done = project.harness("compare", "-b", spec, *sides(runner(project, "old"), broken), *FEW)
    assert done.code == 4
    (result,) = done.read()
    assert result["outcome"] == "failed"
    assert "broken" in result["reason"]


def test_an_occasionally_failing_launch_discards_its_pair(project: Project, spec: Path) -> None:
    count = project.folder / "count"
    flaky = f"""
open({str(count)!r}, "a").write("x")
raise SystemExit("now and then" if len(open({str(count)!r}).read()) % 8 == 4 else 0)
"""
    programs = sides(runner(project, "old"), runner(project, "new", after=flaky))
    done = project.harness("compare", "-b", spec, *programs, *FEW, *WHOLE_BUDGET)
    (result,) = done.read()
    indices = [pair["index"] for pair in result["comparison"]["pairs"]]
    assert indices == [index for index in range(29) if index % 8 != 2]  # the first launch warms up
    assert result["comparison"]["voided"] == 4


def test_a_verdict_can_be_reevaluated_with_a_different_margin(project: Project, spec: Path) -> None:
    programs = sides(runner(project, "old"), runner(project, "new"))
    project.harness("compare", "-b", spec, *programs, "--pairs", "60")
    again = project.harness("compare", "--from", project.folder / "results")
    assert again.code == 0, again.stderr
    assert "no change" in again.stdout
    stricter = project.harness("compare", "--from", project.folder / "results", "--margin", "0.00001")
    assert stricter.code == 5
    (result,) = (project.folder / "results").rglob("result.json")
    below = result.parent.relative_to(project.folder / "results")
    for place in ("LAST", below):
        assert project.harness("compare", "--from", place).code == 0, "as `harness report` takes it"
    nothing = project.harness("compare", "--from", "nowhere")
    assert nothing.code == 2
    assert "no result in nowhere" in nothing.stderr


def test_the_old_info_json_with_both_sides_compares(project: Project, spec: Path) -> None:
    def side(program: Path, commit: str) -> dict[str, object]:
        return {"commit": commit, "commit_time": 5, "programs": {"program": {"location": str(program)}}}

    info = {
        "control": side(runner(project, "old"), "aaa"),
        "treatment": side(runner(project, "new", scale=1.2), "bbb"),
        "meta": {"purpose": "test"},
    }
    done = project.harness("-b", spec, "--info", json.dumps(info), *FEW)
    assert done.code == 1, done.stderr
    (result,) = done.read()
    assert (result["build"]["commit"], result["comparison"]["control"]["commit"]) == ("bbb", "aaa")
    assert result["meta"]["purpose"] == "test"


def test_an_interrupted_comparison_is_resumed(project: Project, spec: Path) -> None:
    programs = sides(runner(project, "old"), runner(project, "new"))
    arguments = ("compare", "-b", str(spec), *programs, *WHOLE_BUDGET)
    run = subprocess.Popen(
        command(*arguments, "--pairs", "1000000"),
        cwd=project.folder,
        env=project.environment,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    journals = project.cache / "comparisons"
    try:
        wait_until(lambda: any(len(path.read_text().splitlines()) > 5 for path in journals.glob("*.jsonl")), 100)
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    before = next(journals.glob("*.jsonl")).read_text().splitlines()
    done = project.harness(*arguments, "--pairs", "40", "--resume")
    assert "nothing to continue" not in done.stderr
    (result,) = done.read()
    pairs = result["comparison"]["pairs"]
    assert len(pairs) == 40
    assert [pair["index"] for pair in pairs] == list(range(40))
    stored = [json.loads(line)["pair"] for line in before if '"pair"' in line]
    of_earlier = {"control_launch": None, "treatment_launch": None, "device": ""}
    assert pairs[: len(stored)] == [{**pair, **of_earlier} for pair in stored[:40]], (
        "a launch that is not in the result"
    )
    assert not list(journals.glob("*.jsonl"))
    assert "nothing to continue" in project.harness(*arguments, "--pairs", "3", "--resume").stderr


@pytest.mark.parametrize(
    "flags",
    [(), ("--control-program", "/bin/true"), ("--source", "releases:x"), ("--self_check", "--alpha", "7")],
    ids=["nothing", "one side", "no version", "alpha"],
)
def test_an_incomplete_compare_request_is_a_usage_error(project: Project, spec: Path, flags: tuple[str, ...]) -> None:
    done = project.harness("compare", "-b", spec, *flags)
    assert done.code == 2, done.stderr
    assert "hint" in done.stderr


def test_equal_programs_with_different_placeholders_are_not_identical(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program} {size}")))
    program = runner(project, "old")

    def side(size: int) -> dict[str, object]:
        return {"programs": {"program": {"location": str(program)}}, "string_map": {"size": size}}

    done = project.harness("-b", spec, "--info", json.dumps({"control": side(1), "treatment": side(2)}), *FEW)
    assert done.read()[0]["comparison"]["pairs"], done.stderr


def test_a_self_check_without_measurements_is_explained(project: Project, spec: Path) -> None:
    done = project.harness("compare", "-b", spec, "--self_check", "--program", "/bin/true")
    assert done.code == 4
    assert "nothing was checked" in done.stderr


def test_an_unwritable_journal_does_not_lose_results(project: Project, spec: Path) -> None:
    project.cache.mkdir()
    (project.cache / "comparisons").write_text("in the way")
    done = project.harness(
        "compare", "-b", spec, *sides(runner(project, "old"), runner(project, "new", scale=1.1)), *FEW
    )
    assert done.code == 1, done.stderr
    notes = done.read()[0]["comparison"]["notes"]
    assert [note["code"] for note in notes] == ["journal"]


def test_a_treatment_that_crashes_often_is_a_failure_and_its_samples_do_not_count(project: Project, spec: Path) -> None:
    count = project.folder / "count"
    crash = f"""
counter = {str(count)!r}
number = len(open(counter).read()) if __import__("os").path.exists(counter) else 0
open(counter, "a").write("x")
if number % 3:
    print("PyTorchObserver", json.dumps(dict(type="NET", metric="latency", unit="us", value="9999")), flush=True)
    __import__("os").kill(__import__("os").getpid(), 11)
"""
    programs = sides(runner(project, "old"), runner(project, "new", after=crash))
    done = project.harness("compare", "-b", spec, *programs, *FEW)
    assert done.code == 4
    (result,) = done.read()
    assert result["outcome"] == "crashed"
    assert "of" in result["reason"]
    assert all(sample < 5000 for metric in result["metrics"] for sample in metric["samples"])


def test_a_treatment_that_stops_reporting_is_a_failure(project: Project, spec: Path) -> None:
    mark = project.folder / "once"
    silent = f"""
if __import__("os").path.exists({str(mark)!r}):
    pass
open({str(mark)!r}, "w").close()
"""
    new = runner(project, "new", after=silent)
    new.write_text(
        new.read_text().replace(
            "for _ in range(12):", f"for _ in range(0 if __import__('os').path.exists({str(mark)!r}) else 12):"
        )
    )
    done = project.harness("compare", "-b", spec, *sides(runner(project, "old"), new), *FEW)
    assert done.code == 4
    assert "no sample" in done.read()[0]["reason"]
    assert project.harness("compare", "--from", project.folder / "results", "--alpha", "0.2").code == 4


def test_quality_problems_of_the_control_are_noted(project: Project, spec: Path) -> None:
    doubtful = runner(project, "old", after="print('PyTorchObserver {broken')")
    done = project.harness("compare", "-b", spec, *sides(doubtful, runner(project, "new")), *FEW)
    (result,) = done.read()
    (note,) = [note for note in result["notes"] if note["code"] == "control_bad_lines"]
    assert not note["trust"]
    assert note["message"].startswith("the control: ")


def test_a_control_without_the_metric_cannot_be_compared(project: Project, spec: Path) -> None:
    lost = "print('PyTorchObserver', json.dumps(dict(type='NET', metric='memory', unit='bytes', value='nan')))"
    slower = runner(project, "new", scale=1.2)
    done = project.harness("compare", "-b", spec, *sides(runner(project, "old", after=lost), slower), *FEW)
    assert done.code == 4
    (result,) = done.read()
    assert (result["outcome"], result["comparison"]["verdict"]) == ("failed", "undecided")
    assert result["reason"].startswith("the control: ")
