"""Forms of a model that torch runs: as it is, and exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.utils import _pytree as pytree

from frameworks.exporting.capture import capture
from frameworks.exporting.child import Say
from frameworks.exporting.models import Prepared
from frameworks.references.process import ReferenceRequest
from harness.core.errors import ExportFailed
from harness.core.examples import Stage

Forward = Callable[..., object]
"""A form of a model: takes the inputs of one example, and returns tensors in any nesting."""


def make_stage(stage: Stage, request: ReferenceRequest, prepared: Prepared, say: Say) -> Forward:  # noqa: ARG001 - others do
    """Return a form of a model.

    Raises:
        ExportFailed: The stage is neither `eager` nor `exported`.
    """
    if stage is Stage.EAGER:
        return prepared.module
    if stage is Stage.EXPORTED:
        return program_module(capture(prepared.module, prepared.example_inputs))
    raise ExportFailed(f"stage `{stage}` of `{request.export.recipe}` is not computed by torch")


def program_module(program: torch.export.ExportedProgram) -> torch.fx.GraphModule:
    """Return a module that runs a program."""
    return program.module(check_guards=False)


def flatten(result: object) -> Iterator[torch.Tensor]:
    """Yield the tensors of a result of any nesting, in the order in which a program returns them.

    Raises:
        ExportFailed: Something in it is not a tensor.
    """
    for leaf in pytree.tree_leaves(result):
        if leaf is None:
            continue
        if not isinstance(leaf, torch.Tensor):
            raise ExportFailed(f"an output of the model is of type {type(leaf).__name__}; only tensors can be compared")
        yield leaf
