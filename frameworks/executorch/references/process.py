"""Process that computes the outputs of a model before it is lowered.

    python -m frameworks.executorch.references.process REQUEST.json PARENT

It prints as the process of an export does (`frameworks.executorch.exporting.process`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from frameworks.executorch.exporting.process import Say, run_child
from harness.core.benchmark import Export
from harness.core.examples import Stage
from harness.core.values import Value


class ReferenceRequest(Value):
    """Request for outputs.

    Attributes:
        export: The request of the program whose origin is meant.
        examples: The example folder.
        stages: The stages to compute.
        destination: The folder that gets an output folder for each stage.
        calibration: Folder of the examples that the program was calibrated with, if it was.
    """

    export: Export
    examples: Path
    stages: tuple[Stage, ...]
    destination: Path
    calibration: Path | None = None


def main(arguments: Sequence[str]) -> None:
    """Compute outputs; the module describes what is printed.

    Args:
        arguments: The file of the request (a `ReferenceRequest` as JSON), and the number of the parent.
    """
    request, parent = arguments

    def write(say: Say) -> None:
        wanted = ReferenceRequest.model_validate_json(Path(request).read_bytes())
        say("importing torch and executorch")
        from frameworks.executorch.references.outputs import write_references  # noqa: PLC0415 - its imports are noisy

        write_references(wanted, say)

    run_child(int(parent), write)


if __name__ == "__main__":
    main(sys.argv[1:])
