"""Options of a session: their values, and what they mean. Standard library alone: the engine reads it, too."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

LEVELS: Final = MappingProxyType(
    {
        "none": "ORT_DISABLE_ALL",
        "basic": "ORT_ENABLE_BASIC",
        "extended": "ORT_ENABLE_EXTENDED",
        "all": "ORT_ENABLE_ALL",
    }
)
"""Members of `GraphOptimizationLevel`."""

MODES: Final = MappingProxyType({"sequential": "ORT_SEQUENTIAL", "parallel": "ORT_PARALLEL"})
"""Members of `ExecutionMode`."""

PROVIDERS: Final = MappingProxyType(
    {
        "cpu": "CPUExecutionProvider",
        "xnnpack": "XnnpackExecutionProvider",
        "openvino": "OpenVINOExecutionProvider",
        "dnnl": "DnnlExecutionProvider",
        "coreml": "CoreMLExecutionProvider",
        "cuda": "CUDAExecutionProvider",
    }
)
"""Names of execution providers; a build of ONNX Runtime has some of them."""

FLAGS: Final = ("true", "false")

CHOICES: Final = MappingProxyType(
    {
        "graph_optimization": tuple(LEVELS),
        "execution_provider": tuple(PROVIDERS),
        "execution_mode": tuple(MODES),
        "spinning": FLAGS,
        "arena": FLAGS,
        "memory_pattern": FLAGS,
        "denormals_as_zero": FLAGS,
    }
)
"""Values of each option; the first is ONNX Runtime's own, but for `graph_optimization` and flags."""

DEFAULTS: Final = MappingProxyType(
    {
        "graph_optimization": "all",
        "execution_provider": "cpu",
        "execution_mode": "sequential",
        "spinning": "true",
        "arena": "true",
        "memory_pattern": "true",
        "denormals_as_zero": "false",
    }
)
"""What ONNX Runtime does where nothing is said."""

MEANINGS: Final = MappingProxyType(
    {
        "graph_optimization": "how far the graph is optimised when it is loaded",
        "execution_provider": "what executes the operators; the CPU executes those that it does not take",
        "execution_mode": "whether independent operators run beside each other",
        "spinning": "whether idle threads of the pool spin, which costs CPU time and saves wake-ups",
        "arena": "whether freed memory is kept for the next execution",
        "memory_pattern": "whether memory is planned from the first execution of a shape",
        "denormals_as_zero": "whether denormal numbers count as zero",
    }
)
"""What each option does, for people."""
