"""Launcher: the program of a stand-in's app, compiled once for this machine.

It is a native program instead of a script because its bytes identify a build, as the program of an app does on a phone,
and because it starts in two milliseconds. What it says and does is `frameworks/executorch/apple/protocol`, the C++ that
the app for iPhones consists of as well.
"""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path
from typing import Final

import frameworks.executorch
from harness import shell
from harness.config import settings
from harness.core.command import Command
from harness.files.digests import sha256_of_folder, sha256_of_texts
from harness.files.locks import FileLock
from harness.testing.phones import StandInUnavailable

PROTOCOL_SOURCES: Final = Path(frameworks.executorch.__file__).parent / "apple" / "protocol"
"""Sources of the protocol."""
_SOURCES: Final = Path(__file__).parent / "launcher"
_OPTIONS: Final = ("-std=c++17", "-O1", "-static-libstdc++", "-static-libgcc")
_COMPILE_S: Final = 300.0


def find_launcher() -> Path:
    """Return the launcher, which is complete or not there; compile it first where it is not there.

    Raises:
        StandInUnavailable: There is no compiler, or it fails.
    """
    compiler = shell.which(os.environ.get("CXX") or "c++")
    if compiler is None or platform.system() != "Linux":
        raise StandInUnavailable("apps of stand-in iPhones need Linux and a C++ compiler", hint="apt install g++")
    key = {
        "compiler": f"{compiler.resolve()} {shell.read_output((str(compiler), '--version'))}",
        "options": " ".join(_OPTIONS),
        "protocol": sha256_of_folder(PROTOCOL_SOURCES),
        "launcher": sha256_of_folder(_SOURCES),
    }
    program = settings.default_cache() / "stand-ins" / f"ios-app-{sha256_of_texts(key)[:16]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(program.with_name(f"{program.name}.lock")):
            if not program.exists():
                _compile(compiler, program)
    return program


def _compile(compiler: Path, program: Path) -> None:
    sources = sorted(path for folder in (PROTOCOL_SOURCES, _SOURCES) for path in folder.glob("*.cpp"))
    with tempfile.TemporaryDirectory(dir=program.parent, prefix=".compiling-") as folder:
        made = Path(folder) / "launcher"
        words = (str(compiler), *_OPTIONS, f"-I{PROTOCOL_SOURCES}", "-o", str(made), *map(str, sources))
        completed = shell.run(Command(words, timeout_s=_COMPILE_S))
        if not completed.ok:
            raise StandInUnavailable(
                f"the app of stand-in iPhones cannot be compiled: {compiler.name} {completed.describe()}\n"
                f"{completed.stderr[-2000:]}"
            )
        made.rename(program)
