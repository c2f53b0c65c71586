"""Options that a runner was compiled with, as its bytes and those of its libraries show them.

The runner is not started, so that this works for programs of any device. What a build does not show, such as the flags
of the compiler of a released package, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from frameworks.executorch import executor_runner, llama_main
from frameworks.executorch.runners.wheel import installed_wheel
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.files.binaries import find_compiler, find_sanitizers, find_texts

EVENT_TRACER: Final = "event_tracer"

_RUNTIME: Final = b"Missing operator: "
"""Message of `runtime/executor/method.cpp`, which is in every runtime that logs: in released ones, and in those of our
recipes."""
_TRACED: Final = b"OPERATOR_CALL\0"
"""Name of the event around each kernel, in the same file: it is in a runtime only if that traces."""
_QUANTISED: Final = b"quantized_decomposed::"
_XNNPACK: Final = b"XnnpackBackend"
_TORCH: Final = b"libtorch_cpu."
_OURS: Final = b"PyTorchObserver {"
_TEXTS: Final = (_RUNTIME, _TRACED, _QUANTISED, _XNNPACK, _TORCH, _OURS)

_LIBRARIES: Final = re.compile(r"(?:libexecutorch|_portable_lib|_C\.).*\.(?:so|dylib)")
_BUNDLED: Final = "runner"
_PACKAGE: Final = "package"
"""Flag of the native runner of the installed package: the folder with its libraries."""
_HINT: Final = (
    "executorch's wheels have the event tracer on since 1.5 and off before, and with it XNNPACK times each of its "
    "operators: compare wheels of one kind (1.4.0 with 1.4.1, or 1.5.0 with 1.5.1), or build both sides alike from "
    "source: --repo-dir FOLDER --control v1.4.1 --treatment v1.5.1"
)


def read_options(build: Build) -> Mapping[str, str]:
    """Return the options that the programs of a build and the libraries beside them show; empty without a runtime."""
    program = build.programs.get("program")
    files = _files_of(build, program) if program is not None and program.is_file() else ()
    texts = {file: _texts_in(file, file.stat().st_mtime_ns) for file in files}
    # Our own program searches the log for that message, so libraries beside it come first.
    runtime = next((file for file in (*files[1:], *files[:1]) if _RUNTIME in texts[file]), None)
    if program is None or runtime is None:
        return {}
    everything = frozenset().union(*texts.values())
    options = {
        EVENT_TRACER: _switch(_TRACED in texts[runtime]),
        "quantized_kernels": _switch(_QUANTISED in everything),
        "xnnpack": _switch(_XNNPACK in everything),
        "torch": "linked" if _TORCH in everything else "none",
        "sanitizers": find_sanitizers(runtime),
        "runner": _runner_of(build, texts[program]),
        "compiler": find_compiler(runtime) or "",
    }
    return {name: value for name, value in options.items() if value}


def explain_options(names: Collection[str]) -> str | None:
    """Return how two runners that differ in these options can be had alike."""
    return _HINT if EVENT_TRACER in names else None


def _files_of(build: Build, program: Path) -> Sequence[Path]:
    """Return the program, and the libraries of ExecuTorch that it finds beside itself or in the installed package.

    A bundle for phones is one folder; there `program` starts `runner`.
    """
    folders = [program.parent / "lib"]
    if _PACKAGE in build.flags:
        folders = [Path(build.flags[_PACKAGE]) / "lib"]
    elif build.recipe == "python":
        try:
            folders = [installed_wheel().package / "extension" / "pybindings"]
        except BuildFailed:
            folders = []
    libraries = (file for folder in folders if folder.is_dir() for file in sorted(folder.iterdir()))
    beside = (build.programs[name] for name in sorted(build.programs) if name == _BUNDLED or _LIBRARIES.fullmatch(name))
    return (program, *beside, *(file for file in libraries if _LIBRARIES.fullmatch(file.name)))


def _runner_of(build: Build, texts: frozenset[bytes]) -> str:
    """Return the kind of runner: its own word, else what its flags and messages show; empty where they show nothing."""
    if "runner" in build.flags or build.source == "installed":
        return build.flags.get("runner", build.recipe)
    if executor_runner.flags_of(build) is not None:
        return executor_runner.NAME
    if llama_main.flags_of(build) is not None:
        return llama_main.NAME
    return "native" if _OURS in texts else ""


@cache
def _texts_in(file: Path, changed_ns: int) -> frozenset[bytes]:  # noqa: ARG001 - a changed file is read again
    return find_texts(file, _TEXTS)


def _switch(is_on: bool) -> str:
    return "on" if is_on else "off"
