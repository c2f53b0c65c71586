"""Process that computes outputs of a model before it is lowered.

    python -m frameworks.references.process REQUEST.json PARENT

It prints as the process of an export does (`frameworks.exporting.child`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from frameworks.exporting.child import Say, run_child
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
        arguments: The file of the request as JSON (a `ReferenceRequest`), and the number of the parent.
    """
    request, parent = arguments

    def write(say: Say) -> None:
        say("importing torch")
        from frameworks.references.outputs import write_references  # noqa: PLC0415 - its imports are noisy
        from frameworks.references.stages import make_stage  # noqa: PLC0415 - likewise

        write_references(ReferenceRequest.model_validate_json(Path(request).read_bytes()), make_stage, say)

    run_child(int(parent), write)


if __name__ == "__main__":
    main(sys.argv[1:])
