"""Probes around a program: requests for them, what they found, and the files that they leave beside a result."""

import hashlib
from typing import Self

from pydantic import JsonValue

from harness.core.outcome import Outcome
from harness.core.values import Value


class ProbeRequest(Value):
    """Request for a probe: a tool that observes a program in a launch of its own.

    Attributes:
        name: Name of the plug-in; empty takes that of FAI-PEP for the kind of device.
        types: What to observe, by FAI-PEP's words: `cpu`, `memory`, `battery`, `gpu`; empty takes the probe's own.
        options: Options of the probe by name.
        stat: Whether FAI-PEP's profiler was to count events instead of sampling.
    """

    name: str = ""
    types: tuple[str, ...] = ()
    options: dict[str, JsonValue] = {}
    stat: bool = False


class FunctionShare(Value):
    """Function of a profile, with the samples that were taken while it was executed itself.

    Attributes:
        symbol: Its name, or its address where there is none.
        module: Program or library that it is in.
        samples: Number of samples.
        share: Of all samples.
    """

    symbol: str
    module: str
    samples: int
    share: float


class StackFrame(Value):
    """Node of a tree of stacks, which is listed from its root with every node before its callees.

    Attributes:
        depth: 0 for the outermost functions.
        symbol: Its function.
        samples: Samples that were taken in it or below it.
    """

    depth: int
    symbol: str
    samples: int


class Artifact(Value):
    """File that a probe leaves beside a result, and never inside it.

    Attributes:
        name: Its name.
        content: Its bytes.
    """

    name: str
    content: bytes

    def describe(self) -> "KeptArtifact":
        """Return what a result says about it."""
        return KeptArtifact(
            name=self.name, size_bytes=len(self.content), sha256=hashlib.sha256(self.content).hexdigest()
        )


class KeptArtifact(Value):
    """File of a probe, as a result names it.

    Attributes:
        name: Its name in the folder `artifacts` beside the result.
        size_bytes: Its size.
        sha256: SHA-256 of its content.
    """

    name: str
    size_bytes: int
    sha256: str


class ProbePass(Value):
    """Pass of one probe over a benchmark. It never decides the outcome of the benchmark.

    Attributes:
        probe: Name of the probe.
        outcome: How the pass ended; `skipped` where the probe cannot observe programs on the device.
        reason: Why, when not ok.
        hint: What to do about it.
        launches: Indices of its launches.
        metrics: Names of the metrics that it measured.
        samples: Number of samples that were taken, of a probe that samples.
        functions: Functions with the most samples, the largest share first.
        stacks: Tree of the stacks, without branches that are too small to be seen.
        artifacts: Files that it left beside the result.
    """

    probe: str
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    hint: str | None = None
    launches: tuple[int, ...] = ()
    metrics: tuple[str, ...] = ()
    samples: int | None = None
    functions: tuple[FunctionShare, ...] = ()
    stacks: tuple[StackFrame, ...] = ()
    artifacts: tuple[KeptArtifact, ...] = ()

    @classmethod
    def skip(cls, probe: str, reason: str, hint: str | None) -> Self:
        """Return a pass that was not made."""
        return cls(probe=probe, outcome=Outcome.SKIPPED, reason=reason, hint=hint)
