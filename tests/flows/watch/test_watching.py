"""What the flows add to the continuous mode: several platforms, commands that measure again, and exit codes."""

from __future__ import annotations

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from harness.analysis.trend.changes import TrendReader
from harness.config.settings import Settings
from harness.core.alarm import Alarm, AlarmEvent, AlarmReport, AlarmStage, Verification
from harness.core.build import BuildInfo
from harness.core.change import ChangeKind
from harness.core.commit import Commit, Source
from harness.core.comparison import Comparison, Pair, Parameters
from harness.core.errors import BenchmarkFailed, BuildFailed, DeliveryFailed, EnvironmentProblem, ExitCode, HarnessError
from harness.core.metric import MetricInfo
from harness.core.result import Report, Result
from harness.core.verdict import Verdict
from harness.flows.compare.commits import CommitComparer, ControlFailed
from harness.flows.compare.requests import CompareRequest
from harness.flows.watch.alarm_reports import AlarmReportChannel, AlarmReports, LinkSettings
from harness.flows.watch.watch import exit_code_of, may_build_ahead
from harness.flows.watch.worker import WatchWorker, verification_of
from harness.plugins import alarm_reporters
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result
from harness.watch.loop import WatchSummary, watch
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import Notification
from harness.watch.store.state import State, open_state
from harness.watch.tasks import CommitOutcome, WatchTasks
from platforms.host.platform import Host
from reporters.local import LocalReporter
from tests.flows.instant import Instant
from tests.watch.watching import Clock, Line, alarm, change, found, orders, point

CONTROL, TREATMENT = (Commit(source="git:/src", id=name * 40) for name in "ab")


def compared(device: str) -> Result:
    """A result whose runners were the same bytes."""
    result = ok_result()
    assert result.device is not None
    comparison = Comparison(
        control=BuildInfo(source="git:/src", commit=CONTROL.id),
        metric="",
        parameters=Parameters(seed=1),
        verdict=Verdict.NO_CHANGE,
        identical=True,
    )
    where = result.device.model_copy(update={"identity": device})
    return result.model_copy(update={"comparison": comparison, "device": where})


@dataclass
class Laboratory:
    """Compares on one platform, or says why not."""

    answer: Result | HarnessError
    settings: Settings = field(default_factory=Settings)

    def compare(self, control: Commit, treatment: Commit, *, resume: bool) -> tuple[Result, ...]:
        if isinstance(self.answer, HarnessError):
            raise self.answer
        return (self.answer,)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with open_state(tmp_path / "watch.db") as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


def worker(state: State, *answers: Result | HarnessError) -> WatchWorker:
    comparers = [cast("CommitComparer", Laboratory(answer)) for answer in answers]
    if state.commits.find(TREATMENT.id) is None:
        state.commits.add(TREATMENT, CommitStatus.RUNNING)
    return WatchWorker(comparers, cast("Source", None), state, None, RecordedProgress())


@pytest.mark.parametrize("problem", [BuildFailed("no NDK"), BenchmarkFailed("it crashed")])
def test_an_error_on_one_platform_costs_no_points_of_another_and_is_reported(
    state: State, problem: HarnessError
) -> None:
    for answers in ((compared("board"), problem), (problem, compared("board"))):
        comparing = worker(state, *answers)
        outcome = comparing.compare(CONTROL, TREATMENT)
        assert (outcome.status, [point.device for point in outcome.points]) == (CommitStatus.DONE, ["board"])
        assert outcome.reason == problem.message
        assert comparing.has_failures, "and the exit code knows"


@pytest.mark.parametrize("problem", [BuildFailed("no compiler"), BenchmarkFailed("it crashed")])
def test_what_no_platform_can_do_is_the_commits_fault(state: State, problem: HarnessError) -> None:
    with pytest.raises(type(problem), match=problem.message):
        worker(state, problem, problem).compare(CONTROL, TREATMENT)


def test_a_control_that_cannot_be_built_is_returned_and_a_lost_device_raised(state: State) -> None:
    assert (
        worker(state, compared("board"), ControlFailed("no compiler then")).compare(CONTROL, TREATMENT).control_failed
    )
    with pytest.raises(EnvironmentProblem, match="unplugged"):
        worker(state, compared("board"), EnvironmentProblem("unplugged")).compare(CONTROL, TREATMENT)


def slower(device: str, by: float) -> Result:
    """A result of eight pairs, the treatment of which took so much longer, relative."""
    result = compared(device)
    assert result.comparison is not None
    pairs = tuple(
        Pair(
            index=index,
            control_first=True,
            control=(100.0,) * 5,
            treatment=(100.0 * (1 + by + 0.001 * (index % 2)),) * 5,
            control_launch=index,
            treatment_launch=index,
            seconds=1.0,
        )
        for index in range(8)
    )
    measured = {"metric": "NET latency", "identical": False, "pairs": pairs, "verdict": Verdict.REGRESSION}
    return result.model_copy(update={"comparison": result.comparison.model_copy(update=measured)})


def test_a_second_verification_takes_more_pairs_and_is_stricter(state: State) -> None:
    asked: list[tuple[object, object]] = []

    class Comparer:
        parameters = Parameters(seed=0, max_pairs=100, alpha=0.01)

        def compare(self, *_commits: Commit, max_pairs: int, alpha: float, **_others: object) -> tuple[Result, ...]:
            asked.append((max_pairs, alpha))
            return (slower("board", 0.05),)

    comparer, source = cast("CommitComparer", Comparer()), cast("Source", Line(["c0", "c1"]))
    verifying = WatchWorker([comparer], source, state, None, RecordedProgress())
    opened = alarm(AlarmStage.OPENED)
    first = verifying.verify(opened)
    verifying.verify(opened.model_copy(update={"verification": first}))
    assert asked == [(300, 0.01), (600, 0.005)]


def test_a_commit_of_the_same_bytes_is_a_point_of_the_series_and_the_change_behind_it_is_reported_once(
    state: State, clock: Clock
) -> None:
    line = Line(["base", "refactor", "slower", "later", "latest"])
    work = {"refactor": compared("board"), "base": compared("board")}

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        return worker(state, work.get(treatment.id, slower("board", 0.04))).compare(control, treatment)

    summary = watch(
        orders(line, base="base", since="base"), WatchTasks(compare, TrendReader), state, timing=clock.timing
    )
    (series,) = state.points.every_series()
    assert series.key.metric == "NET latency"
    assert [point.commit for point in series.points if point.metric is None] == ["refactor"]
    (raised,) = state.alarms.in_stages(*AlarmStage)
    assert summary.alarms == (raised.identity,)
    assert (raised.change.kind, raised.change.last_without) == (ChangeKind.STEP, "refactor")
    assert line.ids.index("slower") <= line.ids.index(raised.change.first_with), (
        "the search has the culprit among its commits"
    )


def test_nothing_is_built_ahead_while_this_machine_is_measured_too() -> None:
    host, phones = Host(Path(os.devnull)), Instant("A")
    assert may_build_ahead(Settings(), [phones])
    assert not may_build_ahead(Settings(), [host])
    assert not may_build_ahead(Settings(), [host, phones])
    assert not may_build_ahead(Settings(), [phones, host])
    assert may_build_ahead(Settings(same_host=False), [host, phones])
    assert not may_build_ahead(Settings(same_host=True), [phones])


@pytest.mark.parametrize("progress", [CommitStatus.FAILED, CommitStatus.BUILD_FAILED])
def test_a_commit_that_was_passed_over_because_it_failed_is_no_success(progress: CommitStatus) -> None:
    summary = WatchSummary(
        Counter({CommitStatus.DONE: 3, progress: 1}), (), is_unreachable=False, has_environment_problem=False
    )
    assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.BENCHMARK_FAILED
    assert exit_code_of(summary, is_worse=True, has_failures=False) is ExitCode.REGRESSION


def test_commits_that_were_skipped_on_purpose_are_no_failure() -> None:
    summary = WatchSummary(
        Counter({CommitStatus.DONE: 3, CommitStatus.SKIPPED: 2}),
        (),
        is_unreachable=False,
        has_environment_problem=False,
    )
    assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.OK


def again(platform: str, *requested: str) -> list[str]:
    """The words of the command that measures an alarm of a device again."""
    return again_of(alarm(changed=change(device="SERIAL 1", first="a" * 40, last="b" * 40)), platform, *requested)


def again_of(raised: Alarm, platform: str, *requested: str) -> list[str]:
    state = cast("State", None)
    reports = AlarmReports(state, Line(), CompareRequest(source="git:/src"), Settings(), platforms=requested)
    return shlex.split(reports.command(raised, platform))


def test_the_command_of_an_alarm_compares_the_culprit_with_the_commit_before_it() -> None:
    detected = alarm(changed=change(first="c0", last="c10"))
    words = again_of(detected, "host")
    assert words[words.index("--control") :][:4] == ["--control", "c0", "--treatment", "c10"], "not searched"
    search, candidates = found("c6")
    culprit = search.culprits[0].model_copy(update={"before": "c5"})
    found_it = {"search": search.model_copy(update={"culprits": (culprit,)}), "candidates": candidates}
    words = again_of(detected.model_copy(update=found_it), "host")
    assert words[words.index("--control") :][:4] == ["--control", "c5", "--treatment", "c6"]


def test_the_command_of_an_alarm_measures_on_the_platform_of_its_device() -> None:
    assert again("android")[-4:] == ["-p", "android", "-d", "SERIAL 1"]
    assert "-p" not in again("host")


def test_the_command_of_an_alarm_names_the_recipe_of_its_platform() -> None:
    requested = ("host/incremental", "android-30/small")
    words = again("host", *requested)
    assert words[words.index("-p") :] == ["-p", "host/incremental"]
    words = again("android", *requested)
    assert words[words.index("-p") :] == ["-p", "android-30/small", "-d", "SERIAL 1"]


class PublishedLine(Line):
    """A line of commits that is published on GitHub."""

    def remote_url(self) -> str | None:
        return "git@github.com:ada/engine.git"


def test_the_user_names_the_page_of_a_difference_where_the_remote_does_not_show_it(state: State) -> None:
    links = LinkSettings(diff_url="https://git.example.org/diff?from={before}&to={after}")
    reports = AlarmReports(state, Line(["c0", "c1"]), CompareRequest(source="git:/src"), Settings(), links)
    report = reports.report_of(Notification(key="k", event=AlarmEvent.CONFIRMED, time=1.0, alarm=alarm()))
    assert report.diff_url == "https://git.example.org/diff?from=c0&to=c1"
    assert report.repository == ""


def test_the_report_of_an_alarm_says_where_results_are_and_how_to_measure_on_its_phone(
    state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = LocalReporter(Path("results")).report(Report(result=ok_result(uid="a1")))
    verification = Verification(
        confirmed=True, verdict=Verdict.REGRESSION, reason="slower", platform="android", result="a1"
    )
    changed = change(device="SERIAL 1", last="c2")
    verified = alarm(changed=changed).model_copy(update={"verification": verification})
    settings = Settings(local_reporter=Path("results"), platform="host")
    (reporter,) = alarm_reporters(settings)
    source, request = PublishedLine(["c0", "c1", "c2"]), CompareRequest(source="git:/src")
    links = LinkSettings(results_url="https://perf.example/results/")
    channel = AlarmReportChannel(reporter, AlarmReports(state, source, request, settings, links))
    page = Path(channel.deliver(Notification(key="k", event=AlarmEvent.CONFIRMED, time=1.0, alarm=verified)))
    report = AlarmReport.model_validate_json((page.parent / "alarm.json").read_bytes())
    assert [tmp_path / "results" / place for place in report.results] == [tmp_path / kept], "relative to the folder"
    assert (page.parent / "../.." / report.results[0]).resolve() == tmp_path / kept, "and linked from the page"
    assert report.results_url == "https://perf.example/results/"
    assert report.repository == "https://github.com/ada/engine"
    assert report.diff_url == "https://github.com/ada/engine/compare/c0...c2"
    assert report.command.endswith("-p android -d 'SERIAL 1'")
    assert [candidate.commit.id for candidate in report.alarm.candidates] == ["c1", "c2"]


class _BrokenReporter:
    name = "pager"

    def report(self, report: AlarmReport) -> str:
        raise KeyError(report.event)


def test_a_broken_reporter_of_alarms_is_a_failed_delivery(state: State) -> None:
    """The watcher goes on; it would meet the same delivery at every start."""
    source = Line(["c0", "c1", "c2"])
    channel = AlarmReportChannel(
        _BrokenReporter(), AlarmReports(state, source, CompareRequest(source="git:/src"), Settings())
    )
    confirmed = alarm(changed=change(last="c2"))
    with pytest.raises(DeliveryFailed, match="alarm reporter pager is broken: KeyError"):
        channel.deliver(Notification(key="k", event=AlarmEvent.CONFIRMED, time=1.0, alarm=confirmed))


def test_the_report_of_an_alarm_without_unit_has_that_of_its_series(state: State, tmp_path: Path) -> None:
    state.commits.add(Commit(source="line:", id="c1"), CommitStatus.DONE)
    state.points.add(state.commits.get("c1"), point("c0"))
    changed = change().model_copy(update={"metric": MetricInfo(name="NET latency")})
    settings = Settings(local_reporter=tmp_path)
    (reporter,) = alarm_reporters(settings)
    reports = AlarmReports(state, Line(["c0", "c1"]), CompareRequest(source="git:/src"), settings)
    channel = AlarmReportChannel(reporter, reports)
    notification = Notification(key="k", event=AlarmEvent.CONFIRMED, time=1.0, alarm=alarm(changed=changed))
    page = Path(channel.deliver(notification))
    report = AlarmReport.model_validate_json((page.parent / "alarm.json").read_bytes())
    assert report.alarm.change.metric.unit == "us"


def test_verifying_remembers_the_platform() -> None:
    result = compared("board")
    assert result.comparison is not None
    assert result.device is not None
    verification = verification_of(result, result.comparison, Verdict.REGRESSION, "p25")
    assert verification.platform == result.device.platform
    assert not verification.confirmed


def test_a_change_of_the_tail_is_verified_in_the_figure_that_shows_it() -> None:
    result = compared("board")
    assert result.comparison is not None
    equal = (8.0, 8.1, 8.2, 8.3, 8.4)
    longer = (*equal[:3], 1.02 * equal[3], 1.2 * equal[4])
    pairs = tuple(
        Pair(
            index=index,
            control_first=index % 2 == 0,
            control=equal,
            treatment=longer,
            control_launch=index,
            treatment_launch=index,
            seconds=0.2,
        )
        for index in range(20)
    )
    stated = {"pairs": pairs, "verdict": Verdict.REGRESSION, "difference": 0.0, "low": -0.001, "high": 0.001}
    comparison = result.comparison.model_copy(update=stated)
    verification = verification_of(result, comparison, Verdict.REGRESSION, "p90")
    assert verification.confirmed
    assert verification.figure == "p90"
    assert verification.effect is not None
    assert verification.effect.log_ratio == pytest.approx(math.log(1.2))
    verified = alarm(changed=change().model_copy(update={"figure": "p90"})).model_copy(
        update={"verification": verification}
    )
    assert (verified.size.effect, verified.size.figure) == (verification.effect, "p90")
    whole = comparison.model_copy(update={"difference": 0.02, "low": 0.01, "high": 0.03})
    assert verification_of(result, whole, Verdict.REGRESSION, "p90").effect == whole.effect


def test_the_command_of_an_alarm_names_the_source_wherever_it_is_typed() -> None:
    words = again("host")
    assert words[words.index("--source") + 1] == "line:"
