"""Options of the framework `tflite`. Imports nothing heavy: `harness --help` shows them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from harness.config.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteOptions:
    """Options of the converter to LiteRT."""

    heading: ClassVar[str] = "With LiteRT"

    tflite_converter: Annotated[
        Path | None,
        Option(
            "Python interpreter of an environment with litert-torch; by default it is installed in the cache.",
            in_specifications=False,
            value="PYTHON",
        ),
    ] = None
