"""Models that were saved as programs of `torch.export`: what a script evaluates without a definition of its own."""

from __future__ import annotations

from typing import Self

import torch


class SavedProgram(torch.nn.Module):
    """Program as a module that can be exported again; it stays in the mode in which it was exported.

    Args:
        program: The program.
    """

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        super().__init__()
        self.program = program.module()

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002 - torch's signature
        """Change nothing: a traced program has one mode, and refuses to be asked for another."""
        return self

    def forward(self, *inputs: torch.Tensor) -> object:
        """Execute the program."""
        return self.program(*inputs)


def saved(path: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Load a file of `torch.export.save` with its example inputs.

    Args:
        path: The file, `*.pt2`.

    Raises:
        ValueError: The program has no example inputs, or others than tensors.
    """
    program = torch.export.load(path)
    arguments, keywords = program.example_inputs or ((), {})
    if not arguments or keywords or not all(isinstance(argument, torch.Tensor) for argument in arguments):
        raise ValueError(f"{path}: the example inputs of the program must be tensors, given by position")
    return SavedProgram(program), tuple(arguments)
