"""LiteRT as a framework: its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from frameworks.backend_options import BackendOption
from frameworks.notes import find_observation
from frameworks.python_framework import PythonFramework, PythonFrameworkParts
from frameworks.tflite.exporting.exporter import make_exporter
from frameworks.tflite.logs import read_output
from frameworks.tflite.options import TfliteOptions
from frameworks.tflite.required import EXTRAS, RUNNER
from frameworks.tflite.runner.options import CHOICES
from frameworks.tflite.tool_command import compose_tool
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.metric import Observation
from harness.core.note import Note

_MEANINGS: Final = {
    "delegate": "`xnnpack`, the interpreter's own kernels (`none`), or its plain ones (`reference`)",
    "precision": "`f16` lets XNNPACK compute in half precision, by LiteRT's compiled model",
    "api": "the interpreter of TensorFlow Lite, or LiteRT's compiled model",
    "layout": "`nhwc` for models that take images as NHWC, which the runner makes of NCHW before it measures",
}

OPTIONS: Final = tuple(BackendOption(name, _MEANINGS[name], values) for name, values in CHOICES.items())
"""Options of the backend."""


def make_framework(settings: Settings) -> PythonFramework:
    """Return the plug-in."""
    parts = PythonFrameworkParts(
        name="tflite",
        engine="frameworks.tflite.runner.engine:ENGINE",
        sources=Path(__file__).parent / "runner",
        runtime=RUNNER,
        exporter=make_exporter(settings.of(TfliteOptions).tflite_converter, settings.cache_dir),
        options=OPTIONS,
        extras=EXTRAS,
        read_output=read_output,
        make_notes=lambda observations, benchmark: tuple(note_launch(observations, benchmark)),
        compose_tool=compose_tool,
    )
    return PythonFramework(parts, settings)


def note_launch(observations: Sequence[Observation], benchmark: Benchmark) -> Iterator[Note]:
    """Yield notes on a launch: that the delegate took nothing, although it was to."""
    wanted = benchmark.backend_options.get("delegate", CHOICES["delegate"][0])
    used = find_observation(observations, "RUN delegate")
    is_runner = find_observation(observations, "RUN api") is not None
    if is_runner and used is not None and used.info != wanted:
        yield Note(
            code="delegate",
            message=f"the delegate `{wanted}` took no operator of the model: LiteRT's own kernels computed it",
            hint='convert the model again, or ask for what computes it: `backend_options`: {"delegate": "none"}',
            trust=False,
        )
