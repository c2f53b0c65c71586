"""TorchScript by tracing; `lite_interpreter` is the same for the interpreter of phones."""

from __future__ import annotations

import io
import json
import warnings

import torch
from torch import nn

Inputs = tuple[torch.Tensor, ...]

INPUTS = "inputs.json"
"""Extra file with the shapes and types of the inputs, which TorchScript does not keep."""


def write(module: nn.Module, example_inputs: Inputs) -> bytes:
    """Return the archive of `torch.jit.save`."""
    buffer = io.BytesIO()
    torch.jit.save(_trace(module, example_inputs), buffer, _extra_files={INPUTS: _describe(example_inputs)})
    return buffer.getvalue()


def write_lite(module: nn.Module, example_inputs: Inputs) -> bytes:
    """Return the archive that the Lite Interpreter reads."""
    content: bytes = _trace(module, example_inputs)._save_to_buffer_for_lite_interpreter(  # noqa: SLF001 - no other
        _extra_files={INPUTS: _describe(example_inputs)}
    )
    return content


def _trace(module: nn.Module, example_inputs: Inputs) -> torch.jit.ScriptModule:
    """Trace a module, which executes it; the traced one has its buffers, and begins with the state before."""
    state = [(buffer, buffer.clone()) for buffer in module.buffers()]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # TorchScript is no longer developed, which is why it is a reference
        traced: torch.jit.ScriptModule = torch.jit.trace(  # type: ignore[no-untyped-call]
            module, example_inputs, check_trace=False
        )
        for buffer, before in state:
            buffer.copy_(before)
    return traced


def _describe(example_inputs: Inputs) -> str:
    return json.dumps([[str(tensor.dtype).removeprefix("torch."), list(tensor.shape)] for tensor in example_inputs])
