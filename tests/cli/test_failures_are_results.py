"""Whatever goes wrong with one benchmark is a result with a reason; the others run; the exit code is not 0."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess

import pytest

from tests.cli.project import Project, command, generic, observe, one_test
from tests.processes import is_running, wait_until, written

pytestmark = pytest.mark.slow

GOOD = observe(1, 2, 3, 4, 5, 6)


def test_a_successful_run_exits_with_0_and_is_stored_at_once(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("good", GOOD)))
    done = project.harness("-b", spec)
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert result["outcome"] == "ok"
    assert result["metrics"][0]["samples"] == [1, 2, 3, 4, 5, 6]
    assert "measuring m/good" in done.stderr
    assert str(done.results) in done.stderr


@pytest.mark.parametrize(
    ("name", "line", "outcome", "words"),
    [
        ("timeout", observe(1, after="import time; time.sleep(60)"), "timeout", "did not end within 1 s"),
        ("crash", observe(1, after="import os; os.kill(os.getpid(), 6)"), "crashed", "SIGABRT"),
        ("exit", observe(1, after="raise SystemExit('cannot load model')"), "failed", "cannot load model"),
        ("silent", "true", "failed", "reported no number"),
        ("garbage", "echo PyTorchObserver {broken", "failed", "reported no number"),
        ("missing", "/nowhere/program", "failed", "no such program"),
        ("relative", "./my_program", "failed", "no such program in the folder in which programs start"),
        ("nothing", "{program} --x", "failed", "{program}"),
    ],
)
def test_a_failing_benchmark_is_a_result_and_the_next_one_runs(
    project: Project, name: str, line: str, outcome: str, words: str
) -> None:
    spec = project.write(
        "spec.json", generic(one_test(name, line, timeout=1 if name == "timeout" else 60), one_test("good", GOOD))
    )
    done = project.harness("-b", spec)
    assert done.code == 4
    assert done.outcomes() == {name: outcome, "good": "ok"}
    reason = next(result["reason"] for result in done.read() if result["benchmark"]["identifier"] == name)
    assert words in reason
    assert outcome in done.stdout


def test_a_missing_file_fails_only_the_benchmarks_that_need_it(project: Project) -> None:
    bad = generic(
        one_test("needs", GOOD), name="bad", files={"x": {"filename": "x", "location": "x.bin", "md5": "0" * 32}}
    )
    done = project.harness(
        "-b", project.write("bad.json", bad), project.write("good.json", generic(one_test("good", GOOD)))
    )
    assert done.code == 4
    assert done.outcomes() == {"needs": "failed", "good": "ok"}


def test_a_wrong_md5_is_rejected_with_both_hashes_and_the_specification_is_unchanged(project: Project) -> None:
    (project.folder / "x.bin").write_bytes(b"content")
    promised = hashlib.md5(b"other").hexdigest()
    files = {"x": {"filename": "x.bin", "location": "x.bin", "md5": promised}}
    spec = project.write("spec.json", generic(one_test("needs", GOOD), files=files))
    before = spec.read_bytes()
    done = project.harness("-b", spec)
    assert done.code == 4
    (result,) = done.read()
    assert promised in result["reason"]
    assert hashlib.md5(b"content").hexdigest() in result["reason"]
    assert spec.read_bytes() == before


def test_a_failing_reporter_is_reported_and_loses_no_result(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("good", GOOD)))
    done = project.harness("-b", spec, "--remote_reporter", "http://127.0.0.1:9/results|test")
    assert done.code == 3
    assert "remote" in done.stderr
    assert "flush" in done.stderr
    assert done.outcomes() == {"good": "ok"}


def test_a_benchmark_that_cannot_run_here_is_skipped_with_a_reason(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("wide", GOOD, threads=4096), one_test("good", GOOD)))
    done = project.harness("-b", spec)
    assert done.code == 0, done.stderr
    assert done.outcomes() == {"wide": "skipped", "good": "ok"}
    assert "4096 threads" in done.stdout


def test_a_run_with_only_skipped_benchmarks_is_not_a_success(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("wide", GOOD, threads=4096)))
    assert project.harness("-b", spec).code == 4


def test_environment_variables_of_a_test_do_not_leak_into_the_next(project: Project) -> None:
    show = observe(1, 2, 3, 4, 5, before="import os, sys; print(os.environ.get('EDGE_LEAK'), file=sys.stderr)")
    spec = project.write(
        "spec.json", generic(one_test("first", show, env={"EDGE_LEAK": "1"}), one_test("second", show))
    )
    project.harness("-b", spec)
    folders = {path.parent: json.loads(path.read_text()) for path in (project.folder / "results").rglob("result.json")}
    stderr_by_benchmark = {
        result["benchmark"]["identifier"]: {log.read_text() for log in folder.rglob("*stderr*")}
        for folder, result in folders.items()
    }
    assert stderr_by_benchmark == {"first": {"1\n"}, "second": {"None\n"}}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_keeps_what_was_measured_and_ends_the_program(project: Project, number: signal.Signals) -> None:
    pid = project.folder / "pid"
    hang = observe(1, before=f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    spec = project.write("spec.json", generic(one_test("good", GOOD), one_test("hangs", hang)))
    run = subprocess.Popen(
        command("-b", spec), cwd=project.folder, env=project.environment, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: written(pid))
    run.send_signal(number)
    _, stderr = run.communicate(timeout=50)
    assert run.returncode == 130
    words = f"interrupted ({number.name}): 1 result is kept; what was being measured is not"
    assert words in stderr
    assert not is_running(int(pid.read_text()))
    results = project.harness("report")
    assert "m/good" in results.stdout
    assert "hangs" not in results.stdout


@pytest.mark.slow
def test_an_interruption_keeps_the_launches_until_then_as_a_result_without_a_figure(project: Project) -> None:
    pid = project.folder / "pid"
    hang = f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    third = f"import os, sys, time\nif sys.argv[1] == '2': {hang}"
    program = f"{observe(1, 2, 3, 4, 5, before=third)} {{INDEX}}"
    spec = project.write("spec.json", generic(one_test("good", GOOD), one_test("long", program, repeat=5)))
    run = subprocess.Popen(
        command("-b", spec), cwd=project.folder, env=project.environment, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: written(pid))
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=50)
    assert run.returncode == 130
    assert "interrupted (SIGINT): 1 result and 2 launches of what was being measured are kept" in stderr
    report = project.harness("report", "LAST")
    assert "m/long: interrupted: stopped after 2 launches" in report.stdout
    (row,) = (line for line in project.harness("report").stdout.splitlines() if "m/long" in line)
    assert "interrupted" in row
    assert "µs" not in row


@pytest.mark.parametrize("compares", [False, True])
def test_an_interruption_of_the_first_launch_says_that_nothing_was_measured(project: Project, compares: bool) -> None:
    pid = project.folder / "pid"
    hang = observe(1, before=f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    spec = project.write("spec.json", generic(one_test("hangs", hang)))
    arguments = ("compare", "-b", spec, "--self-check") if compares else ("-b", spec)
    run = subprocess.Popen(
        command(*arguments), cwd=project.folder, env=project.environment, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: written(pid))
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=50)
    assert run.returncode == 130
    assert "interrupted (SIGINT): no benchmark was measured to its end\n" in stderr
    assert "--resume" not in stderr


def test_a_killed_run_does_not_disturb_the_next(project: Project) -> None:
    pid = project.folder / "pid"
    hang = observe(1, before=f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    spec = project.write("spec.json", generic(one_test("hangs", hang)))
    run = subprocess.Popen(command("-b", spec), cwd=project.folder, env=project.environment, stderr=subprocess.DEVNULL)
    wait_until(lambda: written(pid))
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    done = project.harness("-b", project.write("good.json", generic(one_test("good", GOOD))))
    assert done.code == 0
    assert not is_running(int(pid.read_text()))
