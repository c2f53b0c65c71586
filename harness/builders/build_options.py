"""Options that a build was compiled with, read from CMake's cache after a recipe has run.

CMake writes every option of a project, with its final value, to `CMakeCache.txt` in the folder of the build
(cmake(1), "CMake Cache"). The options that every project has are read from there for every recipe. A recipe names those
of its project in a file `options.json` beside `build.sh`, or in the folder of its framework: an object of the names
that people read, each with the entry of the cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness.core.errors import BuildFailed

OPTIONS: Final = "options.json"
_CACHE: Final = "CMakeCache.txt"
_ENTRY: Final = re.compile(r"^([A-Za-z_][\w.-]*):([A-Z]+)=(.*)$", re.MULTILINE)
_COMPILER: Final = re.compile(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "([^"]*)"\)')
_SANITIZER: Final = re.compile(r"-fsanitize=(\S+)")
_COMPILER_NAMES: Final = {"GNU": "GCC"}
_ON: Final = frozenset({"ON", "YES", "TRUE", "Y", "1"})
_OFF: Final = frozenset({"OFF", "NO", "FALSE", "N", "0"})
"""Values of a boolean entry (cmake-commands(7), `if`)."""
_NAMES: Final = TypeAdapter(dict[str, str])


def read_names(folder: Path) -> Mapping[str, str]:
    """Return the names of a project's options, each with the entry of CMake's cache, from a folder of a recipe.

    Raises:
        BuildFailed: There is such a file, and it is not an object of texts.
    """
    file = folder / OPTIONS
    if not file.is_file():
        return {}
    try:
        return _NAMES.validate_json(file.read_bytes())
    except ValidationError as error:
        raise BuildFailed(
            f"{file} is not a JSON object of texts", hint='for example {"event_tracer": "PROJECT_ENABLE_TRACER"}'
        ) from error


def read_cmake_options(build: Path, names: Mapping[str, str], hidden: Path) -> dict[str, str]:
    """Return the options of the project that CMake configured in a folder, or in a folder below; empty without one.

    Args:
        build: Folder of intermediate files.
        names: Options of the project, each with the entry of the cache.
        hidden: Folder whose path is left out of the values, because it says nothing about the build.
    """
    caches = [_read_cache(file) for file in (build / _CACHE, *sorted(build.glob(f"*/{_CACHE}"))) if file.is_file()]
    if not caches:
        return {}
    folder, entries = max(caches, key=lambda cache: sum(entry in cache[1] for entry in names.values()))
    options = {
        **_standard_options(entries),
        **{name: _normalise(*entries[entry]) for name, entry in names.items() if entry in entries},
    }
    if (compiler := _compiler(folder)) is not None:
        options["compiler"] = compiler
    return {name: value.replace(str(hidden), "...") for name, value in options.items()}


def _read_cache(file: Path) -> tuple[Path, dict[str, tuple[str, str]]]:
    text = file.read_text(encoding="utf-8", errors="replace")
    return file.parent, {name: (kind, value.strip()) for name, kind, value in _ENTRY.findall(text)}


def _standard_options(entries: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    def value_of(name: str) -> str:
        return entries.get(name, ("", ""))[1]

    build_type = value_of("CMAKE_BUILD_TYPE")

    def flags_of(name: str) -> str:
        words = (value_of(name), value_of(f"{name}_{build_type.upper()}") if build_type else "")
        return " ".join(word for word in words if word)

    flags = {
        "c_flags": flags_of("CMAKE_C_FLAGS"),
        "cxx_flags": flags_of("CMAKE_CXX_FLAGS"),
        "linker_flags": flags_of("CMAKE_EXE_LINKER_FLAGS"),
    }
    every_flag = " ".join(flags.values())
    sanitizers = ",".join(sorted({*_sanitizers(every_flag)}))
    is_whole = "-flto" in every_flag or value_of("CMAKE_INTERPROCEDURAL_OPTIMIZATION").upper() in _ON
    return {
        "build_type": build_type or "none",
        **flags,
        "lto": "on" if is_whole else "off",
        **({"sanitizers": sanitizers} if sanitizers else {}),  # a project can switch them on without these flags
    }


def _sanitizers(flags: str) -> Iterator[str]:
    for names in _SANITIZER.findall(flags):
        yield from names.split(",")


def _normalise(kind: str, value: str) -> str:
    if kind != "BOOL":
        return value
    return "on" if value.upper() in _ON else "off" if value.upper() in _OFF or not value else value


def _compiler(folder: Path) -> str | None:
    """Return `GCC 12.2.0`, as CMake recognised the C++ compiler; None where no language C++ was configured."""
    for file in sorted(folder.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")):
        facts = dict(_COMPILER.findall(file.read_text(encoding="utf-8", errors="replace")))
        if facts.get("ID"):
            return f"{_COMPILER_NAMES.get(facts['ID'], facts['ID'])} {facts.get('VERSION', '')}".strip()
    return None
