"""Process that writes a model of OpenVINO, as `frameworks.exporting.child` describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from frameworks.exporting.child import ExportTask, run_export
from frameworks.telemetry import block_telemetry


def main(arguments: Sequence[str]) -> None:
    """Export a model."""
    run_export(arguments, "torch and openvino", _load)


def _load() -> Callable[[ExportTask], None]:
    block_telemetry()
    from frameworks.openvino.writing import write_archive  # noqa: PLC0415 - it imports torch and openvino

    return write_archive


if __name__ == "__main__":
    main(sys.argv[1:])
