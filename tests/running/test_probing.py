"""Probes around a benchmark: they decide no outcome, mix with no figure, and say what they could not observe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.analysis.results import build_result
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, DeviceLost, EnvironmentProblem
from harness.core.measurement import Job, Measurement
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.probe import Artifact, ProbePass, ProbeRequest
from harness.core.protocols import Probe, ProbedCommand, ProbedLaunch, ProbeProblem, ProbeReading, Session
from harness.core.result import Outcome, Result
from harness.running.measure import measure
from harness.running.probing import count_iterations, find_iteration_time, note_unused_probes
from harness.testing.frameworks import benchmark_of
from harness.testing.progress import RecordedProgress

LINE = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "%s"}'
PROGRAM = f"""
[ -z "$NOISE" ] || echo "$NOISE"
[ -z "$PROBED" ] || {{ echo wrote >"$PROBED"; [ -z "$CRASH" ] || kill -SEGV $$; [ -z "$SILENT" ] || exit 0; }}
printf '{LINE}\\n' ${{PROBED:+9}}100; printf '{LINE}\\n' ${{PROBED:+9}}102
"""


@dataclass
class FakeProbe:
    """A probe that sets a variable, in whose file the program writes."""

    name: str = "fake"
    platforms: Sequence[str] = ("host",)
    problem: ProbeProblem | None = None
    launches: int = 2
    parsed: Callable[[Sequence[ProbedLaunch]], ProbeReading] | None = None
    file: str = "found"
    env: dict[str, str] = field(default_factory=dict)
    after: tuple[Command, ...] = ()
    seen: list[ProbedLaunch] = field(default_factory=list)
    iteration_s: float | None = None

    def find_problem(self, session: Session) -> ProbeProblem | None:
        return self.problem

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:
        self.iteration_s = iteration_s
        return [benchmark] * self.launches

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        folder = session.stage({}, {}).folder
        variables = [f"{name}={value}" for name, value in {"PROBED": f"{folder}/found", **self.env}.items()]
        wrapped = command.replace_argv(("env", *variables, *command.argv))
        return ProbedCommand(wrapped, {"found": f"{folder}/{self.file}"}, after=self.after)

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        self.seen = list(launches)
        if self.parsed is not None:
            return self.parsed(launches)
        counted = Observation(type="NET", metric="faults", samples=(5.0,))
        note = Note(code="looked", message="looked")
        artifact = Artifact(name="a.txt", content=b"wrote")
        return ProbeReading(tuple((counted,) for _ in launches), (note,), (artifact,))


def run(session: Session, tmp_path: Path, *probes: Probe | ProbePass) -> tuple[Measurement, Result]:
    tmp_path.mkdir(exist_ok=True)
    script = tmp_path / "program.sh"
    script.write_text(PROGRAM)
    benchmark = benchmark_of("generic", commands=(f"sh {script}",), launches=2, env={})
    job = Job(benchmark, Build(source="none", commit="none"), probes=probes)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    measured = measure(job, session, Generic({}), scratch=scratch, clock=lambda: 0.0, progress=RecordedProgress())
    return measured, build_result(job, session.device, measured, run_type="benchmark", meta={})


def test_a_probe_observes_launches_of_its_own_after_the_timed_ones(session: Session, tmp_path: Path) -> None:
    probe = FakeProbe()
    measured, result = run(session, tmp_path, probe)
    assert result.outcome is Outcome.OK, result.reason
    (found,) = result.probes
    assert (found.probe, found.outcome, found.launches, found.metrics) == ("fake", Outcome.OK, (2, 3), ("NET faults",))
    assert [launch.discarded is None for launch in result.launches] == [True, True, False, False]
    latency, faults = result.metric("NET latency"), result.metric("NET faults")
    assert latency is not None
    assert sorted(latency.samples) == [100, 100, 102, 102]  # those of probed launches, 9100, do not count
    assert faults is not None
    assert faults.samples == (5.0, 5.0)
    assert [launch.iterations for launch in probe.seen] == [2, 2]
    assert probe.iteration_s == pytest.approx(101e-6)
    assert measured.artifacts == (Artifact(name="a.txt", content=b"wrote"),)
    assert (found.artifacts[0].name, found.artifacts[0].size_bytes) == ("a.txt", 5)
    assert [note.code for note in result.notes if note.code == "looked"] == ["looked"]


def refuse(launches: Sequence[ProbedLaunch]) -> ProbeReading:
    raise BenchmarkFailed("it holds nothing", hint="try again")


@pytest.mark.parametrize(
    ("probe", "outcome", "reason"),
    [
        (FakeProbe(problem=ProbeProblem("not allowed", "allow it")), Outcome.SKIPPED, "not allowed"),
        (FakeProbe(parsed=refuse), Outcome.FAILED, "it holds nothing"),
        (FakeProbe(file="other"), Outcome.FAILED, "it did not write"),
        (FakeProbe(env={"CRASH": "1"}), Outcome.CRASHED, "SIGSEGV"),
        (FakeProbe(env={"SILENT": "1"}), Outcome.FAILED, "reported nothing"),
        (FakeProbe(after=(Command(("sh", "-c", "exit 9")),)), Outcome.FAILED, "exit status 9"),
        (ProbePass.skip("fake", "no such device", None), Outcome.SKIPPED, "no such device"),
    ],
)
def test_a_probe_that_finds_nothing_says_why_and_costs_no_figure(
    session: Session, tmp_path: Path, probe: FakeProbe | ProbePass, outcome: Outcome, reason: str
) -> None:
    _, result = run(session, tmp_path, probe, FakeProbe(name="second", launches=1))
    assert result.outcome is Outcome.OK, result.reason
    first, second = result.probes
    assert (first.outcome, second.outcome) == (outcome, Outcome.OK)
    assert reason in (first.reason or "")
    latency = result.metric("NET latency")
    assert latency is not None
    assert max(latency.samples) == 102
    assert any(reason in note.message and note.trust for note in result.notes if note.code == "probe_fake")


def fail_to_read(launches: Sequence[ProbedLaunch]) -> ProbeReading:
    raise PermissionError(13, "Permission denied", "trace")


class Confused(FakeProbe):
    """A probe that cannot even find out whether it may observe."""

    def find_problem(self, session: Session) -> ProbeProblem | None:
        raise EnvironmentProblem("it cannot be asked")


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        (Confused(), "it cannot be asked"),
        (FakeProbe(parsed=fail_to_read), "trace: Permission denied"),
        (FakeProbe(parsed=lambda _: ProbeReading(())), "it has not read every launch"),
    ],
)
def test_whatever_fails_in_a_probe_is_its_failure_alone(
    session: Session, tmp_path: Path, probe: FakeProbe, reason: str
) -> None:
    _, result = run(session, tmp_path, probe)
    assert result.outcome is Outcome.OK, result.reason
    assert (result.probes[0].outcome, reason in (result.probes[0].reason or "")) == (Outcome.FAILED, True)


class Fragile:
    """A session whose device goes away while the first file is fetched, and comes back."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.device, self.stage, self.run, self.state = session.device, session.stage, session.run, session.state
        self.lost = 0

    def pull(self, remote: str, local: Path) -> None:
        if not self.lost:
            self.lost += 1
            raise DeviceLost("it is gone")
        self._session.pull(remote, local)

    def reconnect(self) -> None:
        """It is back at once."""


def test_a_device_that_comes_back_is_observed_once_more(session: Session, tmp_path: Path) -> None:
    _, result = run(Fragile(session), tmp_path, FakeProbe())
    assert result.outcome is Outcome.OK, result.reason
    (found,) = result.probes
    assert (found.outcome, found.launches) == (Outcome.OK, (3, 4))  # 2 was launched, and its file lost


def test_what_is_noted_of_a_probed_launch_says_nothing_of_the_timed_ones(session: Session, tmp_path: Path) -> None:
    _, result = run(session, tmp_path, FakeProbe(env={"NOISE": "PyTorchObserver {broken"}))
    codes = {note.code for note in result.notes}  # some may be of the machine, as it is
    assert "looked" in codes
    assert not codes & {"bad_lines", "lost_metric"}


def test_a_lost_device_ends_the_benchmark_with_what_was_measured(session: Session, tmp_path: Path) -> None:
    class Losing(FakeProbe):
        def wrap(self, command: Command, session: Session) -> ProbedCommand:
            raise DeviceLost("it is gone")

    _, result = run(session, tmp_path, Losing())
    assert result.outcome is Outcome.DEVICE_LOST
    assert result.metric("NET latency") is not None


def test_iterations_are_counted_from_samples_or_statistics() -> None:
    summary = Observation(type="NET", metric="latency", unit="ms", summary={"p50": 3.0, "n": 20})
    assert count_iterations([summary]) == 20
    assert find_iteration_time([summary]) == pytest.approx(0.003)
    assert (count_iterations([]), find_iteration_time([])) == (None, None)


def test_where_no_probe_observes_a_note_says_so() -> None:
    plain, probed = benchmark_of("generic"), benchmark_of("generic", probes=(ProbeRequest(name="perf-stat"),))
    assert note_unused_probes(plain) == ()
    (note,) = note_unused_probes(probed)
    assert note.message == "not observed by perf-stat: comparisons and rankings take no probes"
