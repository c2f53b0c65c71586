"""OpenVINO, for Intel's and other x86 CPUs.

The program keeps 32-bit weights, and OpenVINO chooses the precision where it is loaded: bfloat16 on a CPU that computes
in it. Neither the recipe nor ExecuTorch's delegate can choose another one; the native runner can, by
`--openvino-precision`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

import torch
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.compile_spec_schema import CompileSpec

from frameworks.executorch.openvino_releases import find_problem
from frameworks.exporting.capture import capture
from frameworks.telemetry import block_telemetry
from harness.core.errors import EnvironmentProblem


def lower_program(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    """Lower what OpenVINO takes; the rest stays portable.

    Raises:
        EnvironmentProblem: OpenVINO is not installed.
    """
    block_telemetry()
    try:
        # By name, because their versions are part of the program's provenance: upstream's quantiser, which the delegate
        # imports, needs the second.
        import nncf  # noqa: F401, PLC0415 - installed only where this recipe is used
        import openvino  # noqa: F401, PLC0415 - installed only where this recipe is used
        from executorch.backends.openvino.partitioner import OpenvinoPartitioner  # noqa: PLC0415 - imports both
    except ImportError as error:
        from frameworks.packages import install_command  # noqa: PLC0415 - no part of what lowers a model

        raise EnvironmentProblem(f"the recipe needs OpenVINO: {error}", hint=install_command("openvino")) from error
    if problem := find_problem(version("openvino")):
        from frameworks.packages import install_command  # noqa: PLC0415 - no part of what lowers a model

        raise EnvironmentProblem(f"nothing could run the program: {problem}", hint=install_command("openvino"))
    partitioner = OpenvinoPartitioner([CompileSpec("device", b"CPU")])
    return to_edge_transform_and_lower(program, partitioner=[partitioner])


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],  # noqa: ARG001 - nothing is quantised
) -> EdgeProgramManager:
    """Export and lower.

    Raises:
        EnvironmentProblem: OpenVINO is not installed.
    """
    return lower_program(capture(module, example_inputs))
