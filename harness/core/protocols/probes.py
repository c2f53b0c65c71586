"""Probes: tools that observe a program while it runs, such as profilers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # most commands probe nothing
    from harness.core.benchmark import Benchmark
    from harness.core.command import Command
    from harness.core.metric import Observation
    from harness.core.note import Note
    from harness.core.probe import Artifact, FunctionShare, StackFrame
    from harness.core.protocols.sessions import Session


class ProbeProblem(NamedTuple):
    """Reason why a probe cannot observe programs on a device.

    Attributes:
        reason: What is missing: a tool, a permission.
        hint: What to do about it.
    """

    reason: str
    hint: str


class ProbedCommand(Struct, frozen=True):
    """Command under a probe.

    Attributes:
        command: Starts the probe, which starts the program and ends as it does.
        files: Files that the probe writes on the device, by name; they are fetched afterwards.
        after: Commands on the device after it, in order, which write further files.
    """

    command: Command
    files: Mapping[str, str]
    after: tuple[Command, ...] = ()


class ProbedLaunch(Struct, frozen=True):
    """Launch under a probe that ended well.

    Attributes:
        files: What the probe wrote, by name, on the host.
        iterations: Timed iterations that the program reported; None where it did not.
    """

    files: Mapping[str, Path]
    iterations: int | None = None


class ProbeReading(Struct, frozen=True):
    """Findings of a probe.

    Attributes:
        observations: What it measured, for each launch.
        notes: What a reader of the numbers must know.
        artifacts: Files to keep beside the result.
        samples: Number of samples that it took; None of a probe that takes none.
        functions: Functions with the most samples, the largest share first.
        stacks: Tree of the stacks.
    """

    observations: tuple[tuple[Observation, ...], ...]
    notes: tuple[Note, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    samples: int | None = None
    functions: tuple[FunctionShare, ...] = ()
    stacks: tuple[StackFrame, ...] = ()


class Probe(Protocol):
    """Tool that observes a program while it runs, in launches of its own, so that it disturbs no other figure.

    Entry points of the group `edge_harness.probes` name a factory `create(request: ProbeRequest) -> Probe`, which
    raises `UsageError` for types and options that it does not know. One thread at a time uses a probe, perhaps for
    several benchmarks and devices, one after the other.
    """

    name: str

    @property
    def platforms(self) -> Collection[str]:
        """Platforms on whose devices it observes programs."""

    def find_problem(self, session: Session) -> ProbeProblem | None:
        """Return why it cannot observe programs on a device now; None where it can. Changes nothing there.

        Raises:
            BenchmarkFailed: That cannot be found out.
            EnvironmentProblem: Likewise.
            DeviceLost: The device became unreachable.
        """

    def plan(self, benchmark: Benchmark, iteration_s: float | None) -> Sequence[Benchmark]:
        """Return the launches that it observes: the benchmark, perhaps with other iterations; at least one.

        Args:
            benchmark: As it is timed.
            iteration_s: Seconds of one iteration; None where that is unknown. Iterations of tests with commands of
                their own cannot be chosen.
        """

    def wrap(self, command: Command, session: Session) -> ProbedCommand:
        """Return a command under the probe. What it needs on the device, such as a folder, it stages first.

        Raises:
            BenchmarkFailed: This command cannot be observed.
            EnvironmentProblem: Its files cannot be staged.
            DeviceLost: The device became unreachable.
        """

    def parse(self, launches: Sequence[ProbedLaunch]) -> ProbeReading:
        """Parse what was written in all planned launches, in their order. Files may hold anything.

        Raises:
            BenchmarkFailed: They hold nothing that can be used; the message says why.
        """
