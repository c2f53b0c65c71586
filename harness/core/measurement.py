"""Jobs to measure, and the raw record of measuring one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.examples import Stage
from harness.core.metric import Metric, Observation
from harness.core.note import Note
from harness.core.power import LaunchMeter
from harness.core.probe import Artifact, ProbePass
from harness.core.result import Launch, Outcome, RawLog
from harness.core.same_work import SameWork

if TYPE_CHECKING:  # protocols are about jobs, and few results have an evaluation
    from harness.core.evaluation import Evaluation, LayerGaps
    from harness.core.protocols.probes import Probe


class References(Struct, frozen=True):
    """Outputs of a model before it was lowered, which those of a device are compared with.

    Attributes:
        examples: The example folder (`harness.core.examples`).
        stages: The output folder of each stage that could be computed.
        layers: Gaps of layers; None where nobody asked for them.
        kept_outputs: Folder that the outputs of the device are kept in; None where nobody asked for them.
    """

    examples: Path
    stages: Mapping[Stage, Path]
    layers: LayerGaps | None = None
    kept_outputs: Path | None = None


class Job(Struct, frozen=True):
    """One benchmark with everything it needs, ready for a device.

    Attributes:
        benchmark: The benchmark to measure.
        build: The runner.
        files: The files it needs, by key.
        references: Outputs to compare its own with; None where its outputs are not compared, or cannot be.
        unreferenced: Why there are no references, where it was asked whether it does the same work; else None.
        meter: External meter of its energy; None where the device meters itself, or nothing does.
        unmetered: Why energy, one of several kinds, is left out; None where it is not.
        probes: What observes it in launches of its own, or the passes that are skipped.
    """

    benchmark: Benchmark
    build: Build
    files: Mapping[str, CachedFile] = field(default_factory=dict)
    references: References | None = None
    unreferenced: str | None = None
    meter: LaunchMeter | None = None
    unmetered: str | None = None
    probes: tuple[Probe | ProbePass, ...] = ()


class Measurement(Struct, frozen=True):
    """Record of the launches of one job.

    Attributes:
        started: Unix seconds.
        finished: Unix seconds.
        outcome: How it ended; the outcome of the first launch that was not ok.
        reason: Why, when not ok.
        hint: What to do about it.
        launches: Every start of the runner.
        observations: The observations of each launch, and of the test's step after it, in the same order.
        preprocessed: The observations of the test's step before each launch, in the same order.
        model_preprocessed: The observations of the model's step before all launches.
        model_postprocessed: The observations of the model's step after all launches.
        notes: Notes of the framework and of the harness.
        made: Files that steps on the host made, by key, as the last launch used them.
        logs: Output of the programs.
        computed: Metrics that were computed from files, such as errors against golden outputs.
        evaluation: What lowering did to the outputs; None where that was not evaluated.
        same_work: Whether it computes the same as its reference; None where nobody asked for that.
        probes: Passes of probes.
        artifacts: Files that they left.
    """

    started: float
    finished: float
    outcome: Outcome
    reason: str | None = None
    hint: str | None = None
    launches: tuple[Launch, ...] = ()
    observations: tuple[tuple[Observation, ...], ...] = ()
    preprocessed: tuple[tuple[Observation, ...], ...] = ()
    model_preprocessed: tuple[Observation, ...] = ()
    model_postprocessed: tuple[Observation, ...] = ()
    notes: tuple[Note, ...] = ()
    logs: tuple[RawLog, ...] = ()
    computed: tuple[Metric, ...] = ()
    made: Mapping[str, CachedFile] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    same_work: SameWork | None = None
    probes: tuple[ProbePass, ...] = ()
    artifacts: tuple[Artifact, ...] = ()

    @property
    def reported(self) -> tuple[tuple[Observation, ...], ...]:
        """Everything that was observed, by launch: the model's steps belong to the first and the last that count.

        The order is FAI-PEP's: preprocess of the model and of the test, the program, postprocess of the test and of the
        model.
        """
        reported = list(self.observations)
        for index, observations in enumerate(self.preprocessed):
            reported[index] = (*observations, *reported[index])
        counted = [index for index, launch in enumerate(self.launches[: len(reported)]) if launch.discarded is None]
        if counted:
            reported[counted[0]] = (*self.model_preprocessed, *reported[counted[0]])
            reported[counted[-1]] += self.model_postprocessed
        return tuple(reported)
