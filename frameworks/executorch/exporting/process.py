"""Process of one export, as `frameworks.exporting.child` describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from frameworks.exporting.child import ExportTask, run_export


def main(arguments: Sequence[str]) -> None:
    """Export a program."""
    run_export(arguments, "torch and executorch", _load)


def _load() -> Callable[[ExportTask], None]:
    from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - its imports are noisy

    return write_program


if __name__ == "__main__":
    main(sys.argv[1:])
