"""`harness compare --lab`: pairs of all phones of a class decide together, whatever goes away meanwhile."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ExitCode
from harness.core.reproduction import Reproduction
from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import git_of_scripts
from tests.lab.labs import BEGINNING_S, Lab, Process, client_of, open_lab, start
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")

LINE = 'PyTorchObserver {\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", \\"unit\\": \\"us\\", \\"value\\": $value}'


def program(project: Project, name: str, base: int, *, delay_s: float = 0) -> Path:
    """A program for phones that prints ten latencies, each up to 2 % above the base."""
    path = project.write(
        name,
        f"""#!/bin/sh
sleep {delay_s}
for number in $(od -An -N20 -tu2 /dev/urandom); do
    value=$(( {base} + {base} * (number % 200) / 10000 ))
    echo "{LINE}"
done
""",
    )
    path.chmod(0o755)
    return path


def specification(project: Project, *names: str) -> Path:
    return project.write("spec.json", generic(*(one_test(name, "{program}") for name in names)))


def sides(project: Project, control: int, treatment: int, **options: float) -> tuple[str, ...]:
    control_program = program(project, "before.sh", control, **options)
    treatment_program = program(project, "after.sh", treatment, **options)
    return ("--control-program", str(control_program), "--treatment-program", str(treatment_program))


def test_phones_of_a_class_decide_together(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both classes are slower, one benchmark is the same on each: one verdict for each class, and one for all."""
    spec = specification(project, "a", "b")
    with start_phones(4) as phones, open_lab(project.folder) as lab:
        names = [phone.serial for phone in phones.phones]
        with (
            host(lab, "old", monkeypatch, phones, names[:2]),
            host(lab, "new", monkeypatch, phones, names[2:]),
        ):
            lab_flags = ("--lab", lab.address, "--device-class", "old", "new")
            done = project.harness("compare", spec, *lab_flags, *sides(project, 100000, 103000))
    assert done.code == 1, done.stderr
    assert "broken" not in done.stderr
    results = done.read()
    assert {(result["device"]["identity"], result["benchmark"]["identifier"]) for result in results} == {
        (f"class:{name}", benchmark) for name in ("old", "new") for benchmark in ("a", "b")
    }
    for result in results:
        comparison = result["comparison"]
        assert comparison["verdict"] == "regression"
        assert comparison["discovered"]
        assert comparison["low"] - 0.005 < 0.03 < comparison["high"] + 0.005, "of four intervals one may miss it"
        assert comparison["parameters"]["fdr"] == 0.01
        assert comparison["parameters"]["interleave"] == "launch"
        assert [pair["index"] for pair in comparison["pairs"]] == [*range(len(comparison["pairs"]))]
        assert {pair["device"] for pair in comparison["pairs"]} <= {*names}
        check_launches(result)
    assert len({pair["device"] for result in results for pair in result["comparison"]["pairs"]}) == 4
    again = project.harness("compare", "--from", project.folder / "results")
    assert again.code == 1
    assert "4 regressions" in again.stdout


def check_launches(result: dict[str, Any]) -> None:
    """Each pair names the launches that it is of, and each sample too."""
    launches = {launch["index"]: launch for launch in result["launches"]}
    control = {launch["index"]: launch for launch in result["control_launches"]}
    assert len(launches) == len(result["launches"])
    for pair in result["comparison"]["pairs"]:
        assert control[pair["control_launch"]]["discarded"] is None
        assert launches[pair["treatment_launch"]]["discarded"] is None
    (metric,) = (metric for metric in result["metrics"] if metric["name"] == "NET latency")
    assert {*metric["launches"]} == {pair["treatment_launch"] for pair in result["comparison"]["pairs"]}
    assert len(metric["samples"]) == 10 * len(result["comparison"]["pairs"])
    assert len(metric["control"]["control_values"]) == len(metric["samples"])


@pytest.mark.exhaustive
def test_an_interrupted_comparison_goes_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first batch; `--resume` counts its pairs."""
    spec = specification(project, "a")
    with start_phones(1) as phones, open_lab(project.folder) as lab, host(lab, "old", monkeypatch, phones):
        flags = (
            *sides(project, 100000, 100001, delay_s=0.05),
            "--pairs",
            "25",
            "--margin",
            "0.0001",
        )
        with client_of(project, lab, spec, *flags, command="compare") as client:
            kept = project.cache / "lab" / "comparisons"
            wait_until(lambda: any(file.read_text().count("\n") > 1 for file in kept.glob("*.jsonl")), BEGINNING_S)
            client.send_signal(signal.SIGINT)
            output, _ = client.communicate(timeout=90)
        assert client.returncode == 130, output
        assert "10 pairs are kept" in output
        (file,) = kept.glob("*.jsonl")
        _, batch, *_ = map(json.loads, file.read_text().splitlines())
        done = project.harness("compare", spec, "--lab", lab.address, *flags, "--resume")
    (result,) = done.read()
    assert len(result["comparison"]["pairs"]) == 25
    assert len({launch["started"] for launch in result["launches"]}) == len(result["launches"])
    earlier = batch["reports"][0]["result"]["comparison"]["pairs"]
    assert [pair["control"] for pair in result["comparison"]["pairs"][:10]] == [pair["control"] for pair in earlier]
    assert not file.exists()
    assert done.code == ExitCode.UNDECIDED, done.stderr


@pytest.mark.exhaustive
def test_a_phone_that_is_unplugged_costs_one_batch(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = specification(project, "a")
    with start_phones(2) as phones, open_lab(project.folder) as lab, host(lab, "old", monkeypatch, phones):
        flags = (
            *sides(project, 100000, 103000, delay_s=0.1),
            "--pairs",
            "40",
            "--precision",
            "0.0001",
        )
        with client_of(project, lab, spec, *flags, command="compare") as client:
            kept = project.cache / "lab" / "comparisons"
            wait_until(lambda: any(file.read_text().count("\n") > 1 for file in kept.glob("*.jsonl")), BEGINNING_S)
            phones.phones[0].unplug()
            output, _ = client.communicate(timeout=240)
    assert client.returncode == 1, output
    (result,) = project_results(project)
    assert len(result["comparison"]["pairs"]) == 40
    assert result["comparison"]["verdict"] == "regression"


@pytest.mark.exhaustive
def test_a_program_that_fails_is_a_failure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = specification(project, "a")
    broken = project.write("broken.sh", "#!/bin/sh\nexit 7\n")
    broken.chmod(0o755)
    good = program(project, "good.sh", 1000)
    with start_phones(1) as phones, open_lab(project.folder) as lab, host(lab, "old", monkeypatch, phones):
        flags = ("--lab", lab.address, "--control-program", str(good), "--treatment-program", str(broken))
        done = project.harness("compare", spec, *flags)
    assert done.code == 4, done.stderr
    (result,) = done.read()
    assert "exit status 7" in result["reason"]


def test_commits_are_built_once_here_and_measured_there(project: Project) -> None:
    """`compare`, `bisect` and `watch` on one lab: the programs are sent by their content."""
    spec = project.write("spec.json", generic(one_test("work", "{program}", threads=1)))
    clone = git_of_scripts(project)
    where = ("--repo-dir", clone.folder, "--frameworks-dir", clone.recipes)
    with open_lab(project.folder) as lab, lab.host("green"):
        flags = (*where, "--lab", lab.address, "--seed", "3")
        base, slower, same = (clone.commits[name] for name in ("base", "slower", "same"))
        done = project.harness("compare", spec, *flags, "--control", base, "--treatment", slower)
        assert done.code == ExitCode.REGRESSION, done.stderr
        (result,) = done.read()
        assert (result["comparison"]["control"]["commit"], result["build"]["commit"]) == (base, slower)
        assert result["comparison"]["control"]["recipe"] == "generic/host"
        assert result["build"]["commit_subject"] == "Make it slower"
        assert (project.folder / "launches" / "slower").exists()
        line = Reproduction.model_validate(result["reproduction"]).line
        assert f"--lab {lab.address}" in line
        assert line.endswith("--devices class:green")
        assert project.harness(*shlex.split(line)[1:]).code == ExitCode.REGRESSION
        broken = project.harness("compare", spec, *flags, "--control", base, "--treatment", clone.commits["broken"])
        here = project.harness("compare", spec, *where, "--control", base, "--treatment", clone.commits["broken"])
        assert broken.code == here.code, broken.stderr
        reasons = [result["reason"] for result in broken.read() if result["outcome"] == "failed"]
        assert len(reasons) == 2
        assert reasons[0] == reasons[1]
        listed = project.write("commits.txt", f"{slower}\nnosuchcommit\n")
        both = project.harness("compare", spec, *flags, "--control", base, "--treatment", listed)
        assert both.code == ExitCode.REGRESSION, both.stderr
        assert "✗ nosuchcommit" in both.stderr
        found = project.harness("bisect", spec, *flags, "--good", base, "--bad", same, "--pairs", "60")
        assert found.code == ExitCode.UNDECIDED, found.stderr  # base and same are equally fast
        found = project.harness("bisect", spec, *flags, "--good", base, "--bad", slower, "--pairs", "60")
        assert found.code == ExitCode.OK, found.stderr
        assert slower[:12] in found.stdout
        watched = project.harness("watch", spec, *flags, "--since", base, "--branch", slower)
        assert watched.code == ExitCode.REGRESSION, watched.stderr
    builds = list((lab.folder / "green" / "lab" / "builds").iterdir())
    assert len(builds) == 3


def project_results(project: Project) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in (project.folder / "results").rglob("result.json")]


@contextlib.contextmanager
def host(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch, phones: PhoneLab, only: list[str] | None = None
) -> Iterator[Process]:
    """Join phones as a host, with the class of its name."""
    with monkeypatch.context() as changed:
        changed.setenv("HARNESS_ADB_SERVER", str(phones.server))
        changed.setenv("ANDROID_ADB_SERVER_PORT", str(phones.port))
        words = ("lab", "join", lab.address, "--platforms", "android", "--as-class", name)
        chosen = ("--devices", *only) if only else ()
        process = start(lab.folder, name, *words, "--cache-dir", str(lab.folder / name), *chosen)
        try:
            process.wait_for(f"joined as {name}", count=len(only or phones.phones))
            yield process
        finally:
            process.stop()
