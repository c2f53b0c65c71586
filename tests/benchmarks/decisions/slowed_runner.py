"""A native runner that can be made slower by a known share, with real work inside the measured interval.

The same binary serves every share, read from the environment, so that memory layout is no difference between builds:
after each execution, also of a language model, it spins for SLOWED_BY percent of the CPU time that the execution took,
so that another program on the same CPU makes the extra work no smaller. It is for one thread.
"""

from __future__ import annotations

import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from frameworks.executorch.runners.compiling import OPTIONS
from frameworks.executorch.runners.native import SOURCES

VARIABLE = "SLOWED_BY"
_EXECUTED = "  const Error error = method.execute();\n"
_PROCESSED = "    error = method_.execute();\n"
_START = "  const int64_t started = now_ns(CLOCK_THREAD_CPUTIME_ID);\n"
_SPIN = """\
  static const double share = std::getenv("SLOWED_BY") ? std::atof(std::getenv("SLOWED_BY")) / 100 : 0;
  const int64_t executed = now_ns(CLOCK_THREAD_CPUTIME_ID);
  const int64_t until = executed + static_cast<int64_t>(share * static_cast<double>(executed - started));
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
"""


def compile_slowed_runner(folder: Path) -> Path:
    """Compile it in `folder` against the installed wheel.

    Returns:
        The program.
    """
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    wheel = next(iter(spec.submodule_search_locations))
    sources, build = folder / "sources", folder / "build"
    shutil.copytree(SOURCES, sources)
    _spin_after(sources / "measure.cpp", _EXECUTED)
    _spin_after(sources / "language_model.cpp", _PROCESSED)
    configure = (
        *("cmake", "-S", str(sources), "-B", str(build), f"-DCMAKE_PREFIX_PATH={wheel}"),
        *(f"-DCMAKE_CXX_FLAGS_RELEASE={OPTIONS}", f"-DEXECUTORCH_VERSION={version('executorch')}"),
    )
    for argv in (configure, ("cmake", "--build", str(build))):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return build / "runner"


def _spin_after(source: Path, executes: str) -> None:
    text = source.read_text()
    assert text.count(executes) == 1, f"{source.name} has changed: say here where an execution ends"
    includes = '#include <cstdlib>\n#include "machine.h"\n'
    source.write_text(includes + text.replace(executes, _START + executes + _SPIN))
