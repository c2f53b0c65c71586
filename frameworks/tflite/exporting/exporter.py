"""Exporter of `.tflite` files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from frameworks.exporting.exporter import FileExporter
from frameworks.tflite.exporting import converter as converter_script
from frameworks.tflite.exporting.packages import ConverterEnvironment, describe_converter, prepare_converter
from frameworks.tflite.required import EXTRAS
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.protocols import Task
from harness.files.digests import sha256_of_files

PYTHON: Final = "TFLITE_CONVERTER_PYTHON"
"""Variable of the export process: the interpreter that converts."""

FOLDER: Final = "TFLITE_CONVERTER_FOLDER"
"""Variable of the export process: the folder with packages of that interpreter, if there is one."""

EXPORTER: Final = FileExporter(
    framework="tflite",
    process="frameworks.tflite.exporting.process",
    packages=("torch", "torchvision"),
    required=("torch",),
    product="a .tflite file",
    extras=EXTRAS,
)
"""What the export process knows; the converter is found by its variables."""


class TfliteExporter(FileExporter, frozen=True):
    """Exporter with the converter that the settings name.

    Attributes:
        python: Interpreter of an environment with litert-torch; None for the packages in the cache.
        cache_dir: The cache of the harness.
    """

    python: Path | None = None
    cache_dir: Path = Path()

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Return everything beside the request that determines the file, the converter's packages among it.

        Raises:
            ExportFailed: There is no such definition or recipe.
            EnvironmentProblem: The interpreter cannot be used.
        """
        script = Path(converter_script.__file__)
        versions = self._converter().versions
        return {
            **super().fingerprint(export),
            "converter": sha256_of_files({script.name: script}),
            **{f"converter {name}": version for name, version in versions.items()},
        }

    def export(
        self, export: Export, destination: Path, progress: Task, *, calibration: Path | None = None
    ) -> ExportReport:
        """Make a file in a process of its own, which starts the converter.

        Raises:
            ExportFailed: With the last message of the process, and what to do about it.
            EnvironmentProblem: A package is missing, or the converter cannot be installed.
        """
        if (problem := self.find_problem(export)) is not None:
            raise problem
        converter = self._converter()
        prepare_converter(converter, progress)
        folder = {} if converter.folder is None else {FOLDER: str(converter.folder)}
        exporter = replace(EXPORTER, variables={PYTHON: str(converter.python), **folder})
        return exporter.export(export, destination, progress, calibration=calibration)

    def _converter(self) -> ConverterEnvironment:
        return describe_converter(self.python, self.cache_dir)


def make_exporter(python: Path | None, cache_dir: Path) -> TfliteExporter:
    """Return the exporter with a converter."""
    return TfliteExporter(
        framework=EXPORTER.framework,
        process=EXPORTER.process,
        packages=EXPORTER.packages,
        required=EXPORTER.required,
        product=EXPORTER.product,
        extras=EXPORTER.extras,
        python=python,
        cache_dir=cache_dir,
    )
