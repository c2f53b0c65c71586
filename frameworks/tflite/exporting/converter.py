"""Converts a saved module of torch to a `.tflite` file. A program of its own: it imports nothing of the harness.

    python converter.py REQUEST.json

REQUEST.json is an object with `program` (a `.pt2` file), `destination`, `quantisation`, `channels_last` and
`calibration` (files of `torch.save`, each a list with the inputs of one batch). It needs torch and litert_torch, and
prints lines `progress: TEXT` to standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def main(path: str) -> None:
    """Convert as a request says."""
    request = json.loads(Path(path).read_text(encoding="utf-8"))
    _say("importing litert_torch")
    import litert_torch  # noqa: PLC0415 - takes seconds
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    _say("converting the model")
    program = torch.export.load(request["program"])
    inputs, _ = program.example_inputs
    module = program.module()
    if request["channels_last"]:
        images = [index for index, tensor in enumerate(inputs) if tensor.dim() == _IMAGE]
        module = litert_torch.to_channel_last_io(module, args=images)
        inputs = tuple(_reorder(tensor) for tensor in inputs)
    model = litert_torch.convert(module, tuple(inputs))
    destination = Path(request["destination"])
    model.export(str(destination))
    if request["quantisation"] != "none":
        _quantise(destination, request)


_IMAGE = 4
"""Dimensions of a batch of images."""


def _reorder(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.permute(0, 2, 3, 1).contiguous() if tensor.dim() == _IMAGE else tensor


def _quantise(file: Path, request: dict[str, Any]) -> None:
    """Quantise the file in place; its inputs and outputs keep their type, so that all recipes take the same bytes."""
    from ai_edge_quantizer import qtyping, quantizer, recipe  # noqa: PLC0415
    from ai_edge_quantizer.algorithm_manager import AlgorithmName  # noqa: PLC0415

    _say("quantising")
    is_static = request["quantisation"] == "static"
    quantiser = quantizer.Quantizer(str(file))
    quantiser.load_quantization_recipe(recipe.static_wi8_ai8() if is_static else recipe.dynamic_wi8_afp32())
    if is_static:
        for operation in (qtyping.TFLOperationName.INPUT, qtyping.TFLOperationName.OUTPUT):
            quantiser.update_quantization_recipe(".*", operation, algorithm_key=AlgorithmName.NO_QUANTIZE)
    batches = _read_batches(file, request) if is_static else None
    result = quantiser.quantize(quantiser.calibrate(batches) if batches is not None else None)
    file.unlink()  # it does not overwrite
    result.export_model(str(file))


def _read_batches(file: Path, request: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the batches by the names of the model's inputs, in the order of its arguments."""
    import torch  # noqa: PLC0415
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415

    signatures = Interpreter(model_path=str(file)).get_signature_list()
    ((key, signature),) = signatures.items()
    names = sorted(signature["inputs"], key=_position)
    batches = []
    for path in request["calibration"]:
        tensors = torch.load(path)
        if request["channels_last"]:
            tensors = [_reorder(tensor) for tensor in tensors]
        batches.append({name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)})
    return {key: batches}


def _position(name: str) -> list[int]:
    """Return the numbers in a name such as `args_10`, by which arguments are sorted."""
    return [int(part) for part in name.split("_") if part.isdigit()]


def _say(text: str) -> None:
    print(f"progress: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
