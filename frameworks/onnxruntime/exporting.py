"""Process that writes an ONNX model, as `frameworks.exporting.child` describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from frameworks.exporting.child import ExportTask, run_export


def main(arguments: Sequence[str]) -> None:
    """Export a model."""
    run_export(arguments, "torch and onnx", _load)


def _load() -> Callable[[ExportTask], None]:
    from frameworks.onnxruntime.writing import write_onnx  # noqa: PLC0415 - its imports are noisy

    return write_onnx


if __name__ == "__main__":
    main(sys.argv[1:])
