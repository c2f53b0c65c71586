"""Process that computes outputs of a model before it is lowered, or compares layers.

    python -m frameworks.executorch.references.process REQUEST.json PARENT
    python -m frameworks.executorch.references.process LAYERS.json RESULT.json PARENT

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


class LayerRequest(Value):
    """Request for gaps of layers.

    Attributes:
        export: The request of the program.
        examples: The example folder.
        limit: Number of examples at most.
        scratch: A folder for programs.
        calibration: Folder of the examples that the program was calibrated with, if it was.
    """

    export: Export
    examples: Path
    limit: int
    scratch: Path
    calibration: Path | None = None


def main(arguments: Sequence[str]) -> None:
    """Compute outputs, or compare layers; the module describes what is printed.

    Args:
        arguments: The file of the request as JSON (a `ReferenceRequest`; or a `LayerRequest`, and the file to write
            `LayerGaps` to), and the number of the parent.
    """
    request, *result, parent = arguments

    def write(say: Say) -> None:
        content = Path(request).read_bytes()
        say("importing torch and executorch")
        if result:
            from frameworks.executorch.references.layers import compare_layers  # noqa: PLC0415 - its imports are noisy

            gaps = compare_layers(LayerRequest.model_validate_json(content), say)
            Path(result[0]).write_text(gaps.model_dump_json(), encoding="utf-8")
        else:
            from frameworks.executorch.references.outputs import write_references  # noqa: PLC0415 - likewise

            write_references(ReferenceRequest.model_validate_json(content), say)

    run_child(int(parent), write)


if __name__ == "__main__":
    main(sys.argv[1:])
