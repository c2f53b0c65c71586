"""Post-training quantisation for XNNPACK (PT2E: prepare, observe, convert), as upstream's own recipes do it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from frameworks.exporting.capture import capture, find_dynamic_shapes
from harness.core.errors import ExportFailed


def quantise(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],
    *,
    is_dynamic: bool = False,
) -> torch.export.ExportedProgram:
    """Quantise a module to 8-bit weights per output channel and 8-bit activations.

    Args:
        module: The module, in evaluation mode.
        example_inputs: One tensor for each argument.
        calibration: Inputs from which the ranges of activations are learnt; at least one.
        is_dynamic: Whether ranges are computed in each call, instead of being learnt.

    Raises:
        ExportFailed: There are no inputs to learn from.
    """
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    )
    exported = capture(module, example_inputs).module()
    own = {name for name, _ in exported.named_buffers()}
    prepared = prepare_pt2e(exported, quantizer)
    state = [(buffer, buffer.clone()) for name, buffer in prepared.named_buffers() if name in own]
    count = 0
    with torch.no_grad():
        for count, batch in enumerate(calibration, start=1):  # noqa: B007 - counted, because an iterable has no length
            prepared(*batch)
        for buffer, before in state:  # a program does not begin with what calibration left in its state
            buffer.copy_(before)
    if count == 0:
        raise ExportFailed("static quantisation needs calibration data", hint="set `calibration` to 1 or more")
    return capture(convert_pt2e(prepared), example_inputs, find_dynamic_shapes(module))


def lower_quantised(program: torch.export.ExportedProgram, partitioners: list[Partitioner]) -> EdgeProgramManager:
    """Lower a quantised program.

    The validity check of the edge dialect does not know quantised operators and would refuse it.
    """
    return to_edge_transform_and_lower(
        program, partitioner=partitioners, compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
