"""Gaps of layers: intermediate outputs of a quantised and of a lowered program against those before. Runs in a process.

Three programs with the same taps run side by side, one example at a time: the exported one in torch, the one that the
recipe lowers in torch, and that one lowered, in the runtime's Python extension.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from executorch.exir import EdgeProgramManager
from msgspec import Struct

from frameworks.executorch.python.engine import load_method
from frameworks.executorch.python.extension import Method, Program, Runtime, load_runtime, set_threads
from frameworks.executorch.references.accumulation import GapSums
from frameworks.executorch.references.process import LayerRequest
from frameworks.executorch.references.stages import calibrated_program, find_steps
from frameworks.executorch.references.taps import Tap, find_delegates, inputs_of, tap_layers, tap_named
from frameworks.exporting.child import Say
from frameworks.exporting.example_folder import Inputs, ModelExamples
from frameworks.exporting.models import prepare
from frameworks.python_runner.failure import RunnerFailure
from harness.core.errors import ExportFailed
from harness.core.evaluation import LayerGap, LayerGaps
from harness.core.examples import Stage


class _Pair(Struct, frozen=True):
    """Tap in two programs.

    Attributes:
        tap: The tap.
        reference: Place of its value among those of the reference.
        other: Place among those of the other.
        sums: What was added so far.
    """

    tap: Tap
    reference: int
    other: int
    sums: GapSums


def compare_layers(request: LayerRequest, say: Say) -> LayerGaps:
    """Compare the layers of a program.

    Raises:
        ExportFailed: The model or recipe cannot be used, the examples do not fit, or the runtime cannot execute it.
    """
    steps = find_steps(request.export)
    say(f"making {request.export.definition}")
    prepared = prepare(request.export)
    examples = ModelExamples(request.examples, prepared.example_inputs)
    origin = prepare(request.export)  # The recipe may change the module that it is given.
    exported = torch.export.export(origin.module, origin.example_inputs)
    program = calibrated_program(request.export, prepared, steps, request.calibration, say)
    tapped = tap_layers(program)
    reference = tap_named(exported, [tap.name for tap in tapped.taps])

    example = inputs_of(program, prepared.example_inputs)
    say("lowering the program with taps")
    retraced = torch.export.export(tapped.module, example)
    edge = steps.lower_program(retraced)
    taps = find_delegates(tapped, edge)
    runtime = load_runtime()
    set_threads(runtime, 1)
    with_taps = _load(runtime, edge, request.scratch / "tapped.pte")
    say("lowering the program")
    without = _load(runtime, steps.lower_program(program), request.scratch / "program.pte")

    before = tapped if steps.quantises else reference
    stage = Stage.QUANTISED if steps.quantises else Stage.EXPORTED
    quantised = _pair(reference.taps, taps, reference.outputs, tapped.outputs) if steps.quantises else ()
    lowered = _pair(before.taps, taps, before.outputs, tapped.outputs)
    untouched = GapSums()
    count = min(request.limit, examples.manifest.count)
    with torch.no_grad():
        for number, inputs in enumerate(itertools.islice(examples, count), start=1):
            say(f"comparing layers {number}/{count}")
            cast = inputs_of(program, inputs)
            copies = [_copy(cast) for _ in range(3)]  # kept: a program may return its inputs
            expected = reference.module(*_copy(inputs))
            simulated = tapped.module(*copies[0]) if steps.quantises else expected
            actual = with_taps(copies[1])[-tapped.outputs - len(taps) :]  # before them are inputs that it changed
            _add(quantised, expected, simulated)
            _add(lowered, simulated, actual)
            for own, other in zip(without(copies[2])[-tapped.outputs :], actual, strict=False):
                untouched.add(own, other)
    gaps = (*_gaps(quantised, Stage.QUANTISED, Stage.EXPORTED), *_gaps(lowered, Stage.HOST, stage))
    return LayerGaps(gaps=gaps, notes=_notes(untouched, count, len(taps)))


def _copy(inputs: Inputs) -> Inputs:
    """Return inputs that a program may change: each of the programs gets the example as it is."""
    return tuple(tensor.clone() for tensor in inputs)


class _Executable(Struct, frozen=True):
    """Loaded program.

    Attributes:
        program: The program, which its method does not keep alive.
        method: Its method.
    """

    program: Program
    method: Method

    def __call__(self, inputs: Inputs) -> Sequence[torch.Tensor]:
        """Execute it on one example; what it returns is valid until the next call."""
        self.method.set_inputs(inputs)
        self.method.execute()
        return [output for output in self.method.get_outputs(clone_outputs=False) if isinstance(output, torch.Tensor)]


def _load(runtime: Runtime, edge: EdgeProgramManager, file: Path) -> _Executable:
    file.write_bytes(edge.to_executorch().buffer)
    try:
        return _Executable(*load_method(runtime, file, "forward", io.StringIO()))
    except RunnerFailure as error:
        raise ExportFailed(f"the runtime cannot load the program: {error}") from error


def _pair(references: Sequence[Tap], others: Sequence[Tap], first_reference: int, first_other: int) -> Sequence[_Pair]:
    """Pair the taps of two programs by name, in the order of the second; what only one of them has is left out."""
    places: Mapping[str, int] = {tap.name: place for place, tap in enumerate(references, start=first_reference)}
    return tuple(_pairs(places, others, first_other))


def _pairs(places: Mapping[str, int], others: Sequence[Tap], first: int) -> Iterator[_Pair]:
    for place, tap in enumerate(others, start=first):
        if tap.name in places:
            yield _Pair(tap, places[tap.name], place, GapSums())


def _add(pairs: Sequence[_Pair], references: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> None:
    for pair in pairs:
        reference, other = references[pair.reference], others[pair.other]
        if reference.shape == other.shape:
            pair.sums.add(reference, other)


def _gaps(pairs: Sequence[_Pair], stage: Stage, reference: Stage) -> Iterator[LayerGap]:
    for pair in pairs:
        if pair.sums.examples:
            yield LayerGap(
                name=pair.tap.name,
                operator=pair.tap.operator,
                module=pair.tap.module,
                source=pair.tap.source,
                delegate=pair.tap.delegate,
                stage=stage,
                reference=reference,
                sqnr_db=pair.sums.sqnr_db,
                max_absolute_error=pair.sums.max_absolute_error,
                cosine_similarity=pair.sums.cosine_similarity,
                examples=pair.sums.examples,
            )


def _notes(untouched: GapSums, count: int, layers: int) -> tuple[str, ...]:
    taken = (
        f"{layers} intermediate values were made outputs of the program, which was lowered by the same recipe and ran "
        f"in ExecuTorch's Python extension on this machine, with {count} examples and one thread"
    )
    if untouched.noise == 0:
        return (taken, "its own outputs are bit by bit those of the program without these outputs")
    near = f"{untouched.sqnr_db:.1f} dB" if untouched.sqnr_db is not None else "values that are not finite"
    differs = (
        f"its own outputs differ from those of the program without these outputs: {near}, largest difference "
        f"{untouched.largest:.3g}; further outputs keep kernels from computing several layers at once"
    )
    return taken, differs
