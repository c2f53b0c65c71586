"""Probes around a benchmark: launches after all others, of which no figure of the program itself counts.

A probe never decides the outcome of a benchmark. What it could not observe is a pass that failed or was skipped, with
its reason, beside the figures that were measured without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, DeviceLost, EnvironmentProblem
from harness.core.metric import LATENCY, Observation, convert
from harness.core.note import Note
from harness.core.outcome import Outcome
from harness.core.probe import ProbePass
from harness.core.protocols import Probe, ProbedCommand, ProbedLaunch, Session
from harness.running.launcher import Launcher, ObservedLaunch
from harness.running.retry import RetryPolicy
from harness.shell import pause

_AFTER_S: Final = 0.2
"""Pause before files of a probe are fetched, which a daemon may still be writing."""


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
        problem = self._probe.find_problem(self._launcher.session)
        if problem is not None:
            self._launcher.add_probe_pass(ProbePass.skip(self._probe.name, problem.reason, problem.hint))
            return
        try:
            self._launcher.add_probe_pass(*self._observe(timed))
        except DeviceLost:
            raise
        except (BenchmarkFailed, EnvironmentProblem) as error:
            self._launcher.add_probe_pass(self._fail(error.message, error.hint))

    def _observe(self, timed: Benchmark) -> tuple[ProbePass, ...]:
        before = self._launcher.last_counted
        observations = before.observations if before is not None else ()
        launches: list[ProbedLaunch] = []
        for planned in self._probe.plan(timed, find_iteration_time(observations)):
            observed, launch = self._launch(planned)
            if observed.launch.outcome is not Outcome.OK or launch is None:
                words = observed.launch.outcome.words
                return (self._fail(observed.launch.reason or words, None, observed.launch.outcome),)
            if observations and not observed.observations:
                return (self._fail("the program reported nothing under it", None),)
            launches.append(launch)
        reading = self._probe.parse(launches)
        for index, found in zip(self._indices, reading.observations, strict=True):
            self._launcher.replace_observations(index, found)
        for note in reading.notes:
            self._launcher.note(note)
        self._launcher.add_artifacts(reading.artifacts)
        names = dict.fromkeys(observation.name for found in reading.observations for observation in found)
        return (
            ProbePass(
                probe=self._probe.name,
                launches=tuple(self._indices),
                metrics=tuple(names),
                samples=reading.samples,
                functions=reading.functions,
                stacks=reading.stacks,
                artifacts=tuple(artifact.describe() for artifact in reading.artifacts),
            ),
        )

    def _launch(self, planned: Benchmark) -> tuple[ObservedLaunch, ProbedLaunch | None]:
        """Launch once under the probe, and fetch what it wrote; the program's own figures do not count."""
        while True:
            probed: list[ProbedCommand] = []

            def wrap(command: Command, session: Session, probed: list[ProbedCommand] = probed) -> Command:
                probed.append(self._probe.wrap(command, session))
                return probed[-1].command

            try:
                observed = self._launcher.launch(planned, wrap)
                self._indices.append(self._launcher.launches - 1)
                self._launcher.discard(f"it was observed by the probe {self._probe.name}")
                if observed.launch.outcome is not Outcome.OK:
                    return observed, None
                return observed, self._fetch(probed[-1], observed.observations)
            except DeviceLost as loss:
                self._policy.reconnect_after(loss)

    def _fetch(self, probed: ProbedCommand, observations: Sequence[Observation]) -> ProbedLaunch:
        session = self._launcher.session
        pause(_AFTER_S if probed.after else 0.0)
        for command in probed.after:
            completed = session.run(command)
            if not completed.ok:
                raise BenchmarkFailed(f"`{command.argv[0]}` {completed.describe()}")
        files = {}
        folder = self._launcher.scratch / "probes" / f"{self._probe.name}-{len(self._indices)}"
        for name, remote in probed.files.items():
            try:
                session.pull(remote, folder / name)
                files[name] = folder / name
            except FileNotFoundError:
                if name not in probed.optional:
                    raise BenchmarkFailed(f"it did not write {remote}") from None
        return ProbedLaunch(files, count_iterations(observations))

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
