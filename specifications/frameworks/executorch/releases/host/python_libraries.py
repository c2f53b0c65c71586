"""Prints the shared libraries of this interpreter and its torch that executorch's extension needs, for CMake."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path


def libpython() -> Path:
    """The interpreter as a library."""
    name = str(sysconfig.get_config_var("INSTSONAME") or sysconfig.get_config_var("LDLIBRARY"))
    library = Path(str(sysconfig.get_config_var("LIBDIR")), name)
    if ".so" not in name or not library.exists():
        sys.exit(f"{sys.executable} has no shared libpython ({library}); use one built with --enable-shared")
    return library


def torch_libraries() -> list[Path]:
    """Those that the extension names, without importing torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit(f"{sys.executable} has no torch, which the extra `executorch` of edge-harness brings")
    folder = Path(spec.origin).parent / "lib"
    return [folder / f"lib{name}.so" for name in ("c10", "torch_cpu", "torch", "torch_python")]


if __name__ == "__main__":
    sys.stdout.write(";".join(str(library) for library in (*torch_libraries(), libpython())))
