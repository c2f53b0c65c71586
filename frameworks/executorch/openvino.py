"""OpenVINO beneath ExecuTorch's delegate: where its library is, and the notes on what it computed in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from frameworks import packages
from frameworks.backend_options import BackendOption
from frameworks.executorch.openvino_releases import VARIABLE, find_problem
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Finding

UNKNOWN: Final = "unknown"
"""Precision that a runner tells which cannot ask OpenVINO."""

_PRECISION: Final = "openvino_precision"
OPTIONS: Final = (
    BackendOption(_PRECISION, "precision in which OpenVINO computes, where it executes the model", ("f32", "bf16")),
)
"""Options of backends that ExecuTorch's runners take."""

_RECIPES: Final = ("native", "python")
"""Builds that run on this machine with this interpreter's packages."""


def environment(build: Build) -> Mapping[str, str]:
    """Return the variable that leads the delegate to the installed library; the user's own has precedence."""
    if build.source != "installed" or build.recipe not in _RECIPES or os.environ.get(VARIABLE):
        return {}
    library = find_library()
    return {} if library is None else {VARIABLE: str(library)}


def precision_words(benchmark: Benchmark) -> Sequence[str]:
    """Return the argument for the precision in which OpenVINO is to compute; none where the test does not name it."""
    precision = benchmark.backend_options.get(_PRECISION, benchmark.variables.get(_PRECISION))
    return () if precision is None else ("--openvino-precision", str(precision))


def find_library() -> Path | None:
    """Find the C library in the installed package `openvino`, without importing it."""
    spec = find_spec("openvino")
    folders = spec.submodule_search_locations if spec is not None else None
    libraries = (library for folder in folders or () for library in Path(folder, "libs").glob("libopenvino_c.so*"))
    return min(libraries, default=None)


def diagnose() -> Finding:
    """Report whether models can be lowered to OpenVINO and run with it."""
    try:
        versions = {name: version(name) for name in ("openvino", "nncf")}
    except PackageNotFoundError as error:
        remedy = f"{packages.install_command('openvino')} (only the export recipe `openvino` needs it)"
        return Finding("OpenVINO", None, f"{error.name} is not installed", remedy)
    if problem := find_problem(versions["openvino"]):
        remedy = f"{packages.install_command('openvino')} (only programs of the export recipe `openvino` need it)"
        return Finding("OpenVINO", None, problem, remedy)
    return Finding("OpenVINO", True, ", ".join(f"{name} {number}" for name, number in versions.items()))


def note_precision(observations: Sequence[Observation]) -> Iterator[Note]:
    """Note every precision but that of the program: the delegate chooses it by the machine, and tells nobody."""
    told = {observation.info for observation in observations if observation.name == "RUN openvino_precision"}
    for precision in sorted(name for name in told if name is not None and name != "f32"):
        if precision == UNKNOWN:
            yield Note(
                code="openvino_precision",
                message="nothing tells the precision that OpenVINO computed in",
                hint='set it with the native runner (--runner native): "openvino_precision": ["f32"]',
            )
        else:
            yield Note(
                code="openvino_precision",
                message=f"OpenVINO computed in {precision}, by its own choice for this CPU or because you asked for it",
                hint='for 32-bit floating point add an axis to the matrix: "openvino_precision": ["f32"]',
            )
