"""Probes around a benchmark: launches after all others, of which no figure of the program itself counts.

A probe never decides the outcome of a benchmark. What it could not observe is a pass that failed or was skipped, with
its reason, beside the figures that were measured without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, DeviceLost, EnvironmentProblem
from harness.core.metric import LATENCY, Observation, convert
from harness.core.note import Note
from harness.core.outcome import Outcome
from harness.core.probe import ProbePass
from harness.core.protocols import Probe, ProbedCommand, ProbedLaunch, ProbeReading, Session
from harness.running.launcher import Launcher, ObservedLaunch
from harness.running.retry import RetryPolicy


def run_probes(launcher: Launcher, policy: RetryPolicy, timed: Benchmark) -> None:
    """Make the pass of every probe of the job, one after the other.

    Args:
        launcher: The job, after its timed launches.
        policy: Waits for a device that went away.
        timed: The benchmark as its timed launches had it.

    Raises:
        DeviceLost: The device went away for good.
    """
    for probe in launcher.job.probes:
        if isinstance(probe, ProbePass):
            launcher.add_probe_pass(probe)
        else:
            _ProbeRun(launcher, policy, probe).run(timed)


def note_unused_probes(benchmark: Benchmark) -> tuple[Note, ...]:
    """Return a note where a benchmark asks for probes, and launches are paired or in rounds, which take none."""
    if not benchmark.probes:
        return ()
    names = ", ".join(request.name or "the default probe" for request in benchmark.probes)
    return (
        Note(
            code="probes_left_out",
            message=f"not observed by {names}: comparisons and rankings take no probes",
            hint="`harness run` does",
        ),
    )


class _ProbeRun:
    """Pass of one probe."""

    def __init__(self, launcher: Launcher, policy: RetryPolicy, probe: Probe) -> None:
        self._launcher = launcher
        self._policy = policy
        self._probe = probe
        self._indices: list[int] = []

    def run(self, timed: Benchmark) -> None:
        """Launch as often as the probe plans, and add what it found."""
        try:
            self._launcher.add_probe_pass(self._observe(timed))
        except DeviceLost:
            raise
        except (BenchmarkFailed, EnvironmentProblem) as error:
            self._launcher.add_probe_pass(self._fail(error.message, error.hint))
        except OSError as error:  # what it wrote was fetched to this machine
            reason = f"{error.filename or 'what it wrote'}: {error.strerror or error}"
            self._launcher.add_probe_pass(self._fail(reason, "check space and permissions there"))

    def _observe(self, timed: Benchmark) -> ProbePass:
        problem = self._probe.find_problem(self._launcher.session)
        if problem is not None:
            return ProbePass.skip(self._probe.name, problem.reason, problem.hint)
        before = self._launcher.last_counted
        observations = before.observations if before is not None else ()
        launches: list[ProbedLaunch] = []
        unmetered = timed.model_copy(update={"energy": False})
        for planned in self._probe.plan(unmetered, find_iteration_time(observations)):
            observed, launch = self._launch(planned)
            if observed.launch.outcome is not Outcome.OK or launch is None:
                words = observed.launch.outcome.words
                return self._fail(observed.launch.reason or words, None, observed.launch.outcome)
            if observations and not observed.observations:
                return self._fail("the program reported nothing under it", None)
            launches.append(launch)
        return self._keep(self._probe.parse(launches))

    def _keep(self, reading: ProbeReading) -> ProbePass:
        """Give what the probe found to the launches that it observed, and return its pass."""
        if len(reading.observations) != len(self._indices):
            return self._fail("it has not read every launch that it planned", None)
        for index, found in zip(self._indices, reading.observations, strict=True):
            self._launcher.replace_observations(index, found)
        for note in reading.notes:
            self._launcher.note(note)
        self._launcher.add_artifacts(reading.artifacts)
        names = dict.fromkeys(observation.name for found in reading.observations for observation in found)
        return ProbePass(
            probe=self._probe.name,
            launches=tuple(self._indices),
            metrics=tuple(names),
            samples=reading.samples,
            functions=reading.functions,
            stacks=reading.stacks,
            artifacts=tuple(artifact.describe() for artifact in reading.artifacts),
        )

    def _launch(self, planned: Benchmark) -> tuple[ObservedLaunch, ProbedLaunch | None]:
        """Launch once under the probe, and fetch what it wrote; again, where the device went away meanwhile."""
        while True:
            probed: list[ProbedCommand] = []

            def wrap(command: Command, session: Session, probed: list[ProbedCommand] = probed) -> Command:
                probed.append(self._probe.wrap(command, session))
                return probed[-1].command

            try:
                observed = self._launcher.launch_wrapped(planned, wrap)
                self._launcher.discard(f"it was observed by the probe {self._probe.name}")
                is_ok = observed.launch.outcome is Outcome.OK
                fetched = self._fetch(probed[-1], observed.observations) if is_ok else None
            except DeviceLost as loss:
                self._policy.reconnect_after(loss)
            else:
                self._indices.append(observed.launch.index)
                return observed, fetched

    def _fetch(self, probed: ProbedCommand, observations: Sequence[Observation]) -> ProbedLaunch:
        session = self._launcher.session
        for command in probed.after:
            completed = session.run(command)
            if not completed.ok:
                raise BenchmarkFailed(f"`{command.argv[0]}` {completed.describe()}")
        folder = self._launcher.scratch / "probes" / f"{self._probe.name}-{len(self._indices)}"
        for name, remote in probed.files.items():
            try:
                session.pull(remote, folder / name)
            except FileNotFoundError:
                raise BenchmarkFailed(f"it did not write {remote}") from None
        return ProbedLaunch({name: folder / name for name in probed.files}, count_iterations(observations))

    def _fail(self, reason: str, hint: str | None, outcome: Outcome = Outcome.FAILED) -> ProbePass:
        return ProbePass(
            probe=self._probe.name, outcome=outcome, reason=reason, hint=hint, launches=tuple(self._indices)
        )


def find_iteration_time(observations: Sequence[Observation]) -> float | None:
    """Return the seconds of one iteration, as a launch reported them; None where it did not."""
    timed = next((each for each in observations if each.name == LATENCY), None)
    if timed is None:
        return None
    if timed.samples:
        value = math.fsum(timed.samples) / len(timed.samples)
    else:
        summary = timed.summary or {}
        value = summary.get("mean", summary.get("p50", 0.0))
    return convert(value, timed.unit, "s") or None


def count_iterations(observations: Sequence[Observation]) -> int | None:
    """Return the number of timed iterations that a launch reported; None where it did not."""
    timed = next((each for each in observations if each.name == LATENCY), None)
    if timed is None:
        return None
    counted = len(timed.samples) or (timed.summary or {}).get("n")
    return int(counted) if counted else None
