"""Static quantisation to 8 bits by ONNX Runtime's own quantiser.

QDQ nodes, weights per channel, activations calibrated by minimum and maximum.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import torch

from frameworks.onnxruntime.recipes import fp32
from harness.core.errors import ExportFailed

if TYPE_CHECKING:
    from torch import nn

Inputs = tuple[torch.Tensor, ...]


class _Batches:
    """Batches as ONNX Runtime's calibration reads them: one dictionary of arrays after the other, then None."""

    def __init__(self, batches: Iterable[Inputs], names: Sequence[str]) -> None:
        self._batches: Iterator[Inputs] = iter(batches)
        self._names = tuple(names)
        self.count = 0

    def get_next(self) -> dict[str, Any] | None:
        """Return the next batch; None at the end."""
        batch = next(self._batches, None)
        if batch is None:
            return None
        self.count += 1
        return {name: tensor.numpy() for name, tensor in zip(self._names, batch, strict=True)}


def export(
    module: nn.Module, example_inputs: Inputs, batches: Iterable[Inputs], names: Sequence[str]
) -> onnx.ModelProto:
    """Return the quantised model.

    Raises:
        ExportFailed: There are no batches to calibrate with.
    """
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static  # noqa: PLC0415 - noisy
    from onnxruntime.quantization.shape_inference import quant_pre_process  # noqa: PLC0415 - likewise

    model = fp32.export(module, example_inputs, (), names)
    reader = _Batches(batches, [value.name for value in model.graph.input])
    with tempfile.TemporaryDirectory(prefix="harness-onnx-q8-") as folder:
        source, prepared, target = (Path(folder) / name for name in ("model.onnx", "prepared.onnx", "quantised.onnx"))
        onnx.save(model, str(source))
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(target),
            reader,
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            calibrate_method=CalibrationMethod.MinMax,
        )
        if not reader.count:
            raise ExportFailed("static quantisation needs calibration data", hint="set `calibration` to 1 or more")
        return onnx.load(str(target))
