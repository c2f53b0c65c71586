"""Process that writes a model of PyTorch, as `frameworks.exporting.child` describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from frameworks.exporting.child import ExportTask, run_export


def main(arguments: Sequence[str]) -> None:
    """Export a model."""
    run_export(arguments, "torch", _load)


def _load() -> Callable[[ExportTask], None]:
    from frameworks.pytorch.writing import write_module  # noqa: PLC0415 - it imports torch

    return write_module


if __name__ == "__main__":
    main(sys.argv[1:])
