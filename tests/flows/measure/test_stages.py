"""What is missing is said before anything that takes minutes: devices, then files, then runners, then exports."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from frameworks.generic.framework import Generic
from harness.config.settings import Settings
from harness.core.app import App
from harness.core.benchmark import Export, ModelFile, SpecificationPlace
from harness.core.build import Build
from harness.core.cached_files import ExportReport
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.errors import (
    BenchmarkUnsupported,
    BuildFailed,
    DeviceLost,
    EnvironmentProblem,
    ExitCode,
    HarnessError,
)
from harness.core.protocols import Progress, Task
from harness.flows.compare.compare import ComparisonTask, compare
from harness.flows.measure.plan import Plan, assign
from harness.flows.measure.run import run
from harness.flows.measure.runners import BuildTarget, Side, installed_runner
from harness.testing.progress import RecordedProgress
from tests.flows.instant import Instant, benchmark


class ExportingFramework(Generic):
    """Framework whose exports are noticed."""

    def __init__(self, events: list[str]) -> None:
        super().__init__({})
        self._events = events

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        return {}

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        self._events.append("export")
        destination.write_bytes(b"program")
        return ExportReport(export=export, versions={}, md5=hashlib.md5(b"program").hexdigest(), size_bytes=7)


class Lacking(ExportingFramework):
    """Framework that lacks a package for its runner or for its exports."""

    def __init__(self, events: list[str], missing: str) -> None:
        super().__init__(events)
        self._missing = missing

    def find_runner_problem(self) -> EnvironmentProblem | None:
        return self._problem("runner")

    def find_export_problem(self, export: Export) -> EnvironmentProblem | None:
        return self._problem("export")

    def _problem(self, kind: str) -> EnvironmentProblem | None:
        is_missing = kind == self._missing
        return EnvironmentProblem(f"{kind}: torch is not installed", hint="pip install it") if is_missing else None


class Checked(Instant):
    """Platform that checks its devices beforehand."""

    app_suffix = ".apk"

    def __init__(self, names: Sequence[str], problems: Mapping[tuple[str, str | None], HarnessError]) -> None:
        super().__init__(names)
        self._problems = problems
        self.asked: list[tuple[str, str | None]] = []

    def preflight(self, device: Device, package: str | None = None) -> None:
        self.asked.append((device.name, package))
        if (problem := self._problems.get((device.name, package))) is not None:
            raise problem


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        cache_dir=tmp_path / "cache",
        model_cache=tmp_path / "models",
        local_reporter=tmp_path / "results",
        screen_reporter=False,
    )


def make_plan(platform: Instant, events: list[str], *, app: str | None = None, missing: bool = False) -> Plan:
    origin = SpecificationPlace(file=Path("spec.json"))
    files = [ModelFile(key="files.model", filename="m.pte", export=Export(definition="m", recipe="r"), origin=origin)]
    if missing:
        files.append(ModelFile(key="files.data", filename="data", location="/no/such/file", origin=origin))
    update = {"files": tuple(files), "app": None if app is None else App(package=app, activity=".A")}
    wanted = [benchmark("same").model_copy(update=update)]
    assignments = assign(wanted, platform.devices(), platform)
    return Plan(platform, assignments, {"generic": ExportingFramework(events)})


def side(events: list[str], name: str = "build", problem: BuildFailed | None = None) -> Side:
    def provide(target: BuildTarget, progress: Progress) -> Build:
        events.append(name)
        if problem is not None:
            raise problem
        return Build(source="prebuilt", commit=name, digest=name, programs={"program": Path(f"/{name}")})

    return provide


def stored(settings: Settings) -> list[dict[str, Any]]:
    assert settings.local_reporter is not None
    return [json.loads(path.read_text()) for path in sorted(Path(settings.local_reporter).rglob("result.json"))]


def test_a_model_is_exported_after_its_runner_was_made(settings: Settings, events: list[str]) -> None:
    code = run(make_plan(Instant(["A"]), events), settings, RecordedProgress(), side(events))
    assert code == ExitCode.OK
    assert events == ["build", "export"]


def test_nothing_is_exported_without_a_runner(settings: Settings, events: list[str]) -> None:
    failing = side(events, problem=BuildFailed("no compiler", hint="apt install one"))
    progress = RecordedProgress()
    code = run(make_plan(Instant(["A"]), events), settings, progress, failing)
    assert code == ExitCode.ENVIRONMENT
    assert events == ["build"]
    (result,) = stored(settings)
    assert (result["outcome"], result["reason"], result["hint"]) == ("failed", "no compiler", "apt install one")


def test_nothing_is_built_or_exported_where_a_file_is_missing(settings: Settings, events: list[str]) -> None:
    code = run(make_plan(Instant(["A"]), events, missing=True), settings, RecordedProgress(), side(events))
    assert code == ExitCode.BENCHMARK_FAILED
    assert events == []
    (result,) = stored(settings)
    assert "/no/such/file" in result["reason"]


@pytest.mark.parametrize(("broken", "built"), [("control", ["control"]), ("treatment", ["control", "treatment"])])
def test_a_comparison_without_both_runners_exports_nothing(
    settings: Settings, events: list[str], broken: str, built: list[str]
) -> None:
    control, treatment = (
        side(events, name, BuildFailed(f"{name} is broken") if name == broken else None)
        for name in ("control", "treatment")
    )
    task = ComparisonTask(control, treatment, Parameters(seed=1))
    code = compare(make_plan(Instant(["A"]), events), task, settings, RecordedProgress())
    assert code == ExitCode.ENVIRONMENT
    assert "export" not in events
    assert events[: len(built)] == built
    (result,) = stored(settings)
    assert result["reason"] == f"{broken} is broken" or result["reason"].endswith(f"{broken} is broken")


def test_a_device_that_needs_a_person_is_named_first(settings: Settings, events: list[str]) -> None:
    platform = Checked(["A", "B"], {("A", None): EnvironmentProblem("A: battery at 3 %", hint="charge it")})
    progress = RecordedProgress()
    code = run(make_plan(platform, events), settings, progress, side(events))
    assert code == ExitCode.ENVIRONMENT
    assert progress.lines[0] == "✗ A: battery at 3 %"
    assert events == ["build", "export"], "for B"
    outcomes = {result["device"]["name"]: (result["outcome"], result["hint"]) for result in stored(settings)}
    assert outcomes == {"A": ("failed", "charge it"), "B": ("ok", None)}


def test_nothing_is_made_when_no_device_is_left(settings: Settings, events: list[str]) -> None:
    platform = Checked(["A"], {("A", None): EnvironmentProblem("A: battery at 3 %", hint="charge it")})
    assert run(make_plan(platform, events), settings, RecordedProgress(), side(events)) == ExitCode.ENVIRONMENT
    task = ComparisonTask(side(events), side(events), Parameters(seed=1))
    assert compare(make_plan(platform, events), task, settings, RecordedProgress()) == ExitCode.ENVIRONMENT
    assert events == []


@pytest.mark.parametrize("missing", ["runner", "export"])
def test_nothing_is_built_or_stored_where_every_benchmark_lacks_packages(
    settings: Settings, events: list[str], missing: str
) -> None:
    plan = make_plan(Instant(["A", "B"]), events)
    plan = replace(plan, frameworks={"generic": Lacking(events, missing)})
    task = ComparisonTask(installed_runner, installed_runner, Parameters(seed=1))
    progress = RecordedProgress()
    for measure in (
        partial(run, plan, settings, progress, installed_runner),
        partial(compare, plan, task, settings, progress),
    ):
        with pytest.raises(EnvironmentProblem, match=f"^nothing can be measured: {missing}: torch is not") as error:
            measure()
        assert error.value.hint == "pip install it"
    assert events == []
    assert progress.lines == []
    assert stored(settings) == []


@pytest.mark.parametrize("missing", ["runner", "export"])
def test_packages_that_some_lack_are_told_once_before_anything_is_built(
    settings: Settings, events: list[str], missing: str
) -> None:
    made = make_plan(Instant(["A", "B"]), events)
    program = benchmark("program").model_copy(update={"framework": "program"})
    assignments = (*made.assignments, *assign([program], made.devices, made.platform))
    plan = replace(
        made, assignments=assignments, frameworks={"generic": Lacking(events, missing), "program": Generic({})}
    )
    progress = RecordedProgress()
    assert (
        run(plan, settings, progress, side(events) if missing == "export" else installed_runner) == ExitCode.ENVIRONMENT
    )
    assert [line for line in progress.lines if "not installed" in line] == [f"✗ {missing}: torch is not installed"]
    lacking = [result for result in stored(settings) if result["benchmark"]["framework"] == "generic"]
    assert [(result["outcome"], result["hint"]) for result in lacking] == [("failed", "pip install it")] * 2


@pytest.mark.parametrize("missing", ["runner", "export"])
def test_a_framework_that_is_an_axis_is_skipped_where_its_packages_are_missing(
    settings: Settings, events: list[str], missing: str
) -> None:
    made = make_plan(Instant(["A"]), events)
    assignments = [
        replace(entry, benchmark=entry.benchmark.model_copy(update={"axes": {"framework": "generic"}}))
        for entry in made.assignments
    ]
    plan = replace(made, assignments=tuple(assignments), frameworks={"generic": Lacking(events, missing)})
    progress = RecordedProgress()

    assert run(plan, settings, progress, installed_runner) == ExitCode.BENCHMARK_FAILED  # nothing was measured
    assert events == []
    assert [line for line in progress.lines if "not installed" in line] == [f"- {missing}: torch is not installed"]
    assert {(result["outcome"], result["hint"]) for result in stored(settings)} == {("skipped", "pip install it")}


def test_a_package_that_an_export_misses_only_when_it_runs_is_a_problem_of_the_environment_too(
    settings: Settings, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def export(*_arguments: object) -> ExportReport:
        raise EnvironmentProblem("no torchvision", hint="pip install it")

    monkeypatch.setattr(ExportingFramework, "export", export)
    plan = make_plan(Instant(["A"]), events)
    assert run(plan, settings, RecordedProgress(), side(events)) == ExitCode.ENVIRONMENT
    task = ComparisonTask(side(events, "a"), side(events, "b"), Parameters(seed=1))
    assert compare(plan, task, settings, RecordedProgress()) == ExitCode.ENVIRONMENT
    assert {(result["outcome"], result["hint"]) for result in stored(settings)} == {("failed", "pip install it")}


def test_a_runner_that_is_given_needs_no_package_of_the_installed_one(settings: Settings, events: list[str]) -> None:
    plan = replace(make_plan(Instant(["A"]), events), frameworks={"generic": Lacking(events, "runner")})
    assert run(plan, settings, RecordedProgress(), side(events)) == ExitCode.OK
    assert events == ["build", "export"]


def test_a_model_that_was_exported_needs_no_package_any_more(settings: Settings, events: list[str]) -> None:
    plan = make_plan(Instant(["A"]), events)
    run(plan, settings, RecordedProgress(), side(events))
    plan = replace(plan, frameworks={"generic": Lacking(events, "export")})
    assert run(plan, settings, RecordedProgress(), side(events)) == ExitCode.OK
    assert events == ["build", "export", "build"]


def test_an_app_that_is_not_installed_is_named_before_its_model_is_exported(
    settings: Settings, events: list[str]
) -> None:
    platform = Checked(["A"], {("A", "org.app"): BenchmarkUnsupported("org.app is not installed", hint="install it")})
    code = run(make_plan(platform, events, app="org.app"), settings, RecordedProgress(), installed_runner)
    assert code == ExitCode.BENCHMARK_FAILED
    assert events == []
    (result,) = stored(settings)
    assert (result["outcome"], result["reason"]) == ("unsupported", "org.app is not installed")


def test_an_app_that_is_given_need_not_be_installed(settings: Settings, events: list[str], tmp_path: Path) -> None:
    platform = Checked(["A"], {})
    app = tmp_path / "app.apk"
    app.write_text("package")
    given = dataclasses.replace(settings, program={"app": app})
    run(make_plan(platform, events, app="org.app"), given, RecordedProgress(), side(events))
    assert platform.asked == [("A", None)]


def test_a_device_that_cannot_be_asked_now_is_waited_for_later(settings: Settings, events: list[str]) -> None:
    platform = Checked(["A"], {("A", None): DeviceLost("A is away")})
    assert run(make_plan(platform, events), settings, RecordedProgress(), side(events)) == ExitCode.OK
    assert events == ["build", "export"]
