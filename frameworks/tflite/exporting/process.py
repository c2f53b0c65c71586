"""Process of one export, as `frameworks.exporting.child` describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from frameworks.exporting.child import ExportTask, run_export


def main(arguments: Sequence[str]) -> None:
    """Export a `.tflite` file."""
    run_export(arguments, "torch", _load)


def _load() -> Callable[[ExportTask], None]:
    from frameworks.tflite.exporting.saving import write_file  # noqa: PLC0415 - imports torch

    return write_file


if __name__ == "__main__":
    main(sys.argv[1:])
