"""Process that computes outputs of a model before it is lowered, or compares layers.

    python -m frameworks.executorch.references.process REQUEST.json PARENT
    python -m frameworks.executorch.references.process LAYERS.json RESULT.json PARENT

It prints as the process of an export does (`frameworks.exporting.child`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from frameworks.exporting.child import Say, run_child
from frameworks.references.process import ReferenceRequest
from harness.core.benchmark import Export
from harness.core.values import Value


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
            from frameworks.executorch.references.stages import make_stage  # noqa: PLC0415 - likewise
            from frameworks.references.outputs import write_references  # noqa: PLC0415 - likewise

            write_references(ReferenceRequest.model_validate_json(content), make_stage, say)

    run_child(int(parent), write)


if __name__ == "__main__":
    main(sys.argv[1:])
