"""From the installed executorch wheel to a runner: compiled against its C++ SDK once, or the Python one.

A native runner is cached under `<cache_dir>/runners/<digest>/`, where the digest covers everything that determines it.
It is made in a folder of its own and moved in whole, so what is there is finished.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pydantic import ValidationError

from harness import shell
from harness.core.build import Build
from harness.core.command import Command
from harness.core.errors import BuildFailed, UsageError
from harness.core.protocols import Progress
from harness.core.values import Value
from harness.settings import Settings

_HERE = Path(__file__).parent
_SOURCES = _HERE / "native"
_SCRIPT = _HERE / "python_runner.py"

KINDS = ("auto", "native", "python")
"""What `settings.runner` can be."""

_OPTIONS = "-O3 -DNDEBUG"
_STEP_S = 300.0
"""Limit of configuring and of compiling: both take seconds on an idle machine."""
_LOCK_S = 3 * _STEP_S
"""How long to wait for another process that makes the same runner."""


def installed_build(settings: Settings, progress: Progress) -> Build:
    """The runner that the settings ask for; `auto` is native where that can be made.

    Raises:
        BuildFailed: It cannot be made.
        UsageError: There is no such kind of runner.
    """
    if settings.runner not in KINDS:
        raise UsageError(f"there is no runner `{settings.runner}`", hint=f"one of {', '.join(KINDS)}")
    if settings.program:
        return prebuilt_build(settings.program)
    if settings.runner == "python":
        return python_build()
    try:
        return native_build(settings.cache_dir, progress)
    except BuildFailed as error:
        if settings.runner == "native":
            raise
        progress.say(f"using the Python runner, which adds microseconds and a second of start-up: {error}")
        return python_build()


def prebuilt_build(programs: Mapping[str, Path]) -> Build:
    """Programs that the user gave; `program` is the runner. Ours, or upstream's with `commands` of its own.

    Raises:
        BuildFailed: A program is missing or cannot be executed.
    """
    for name, path in programs.items():
        if not path.is_file():
            raise BuildFailed(f"program `{name}` is not there: {path}", hint="check the path given with --program")
        if not os.access(path, os.X_OK):
            raise BuildFailed(f"program `{name}` cannot be executed: {path}", hint=f"chmod +x {path}")
    flags = {name: _sha256(path) for name, path in sorted(programs.items())}
    digest = _digest(flags)
    commit = flags.get("program", digest)[:12]
    return Build(
        source="prebuilt", commit=commit, recipe="prebuilt", flags=flags, digest=digest, programs=dict(programs)
    )


def python_build() -> Build:
    """The runner in Python: nothing to make. Started by `{interpreter}`, which is ours.

    Raises:
        BuildFailed: A package it needs is not installed.
    """
    wheel = installed_wheel()
    flags = {
        "executorch": wheel.version,
        "record": wheel.record,
        "torch": _distribution("torch").version,
        "python": sys.version.split()[0],
        "sources": _sha256(_SCRIPT),
    }
    return Build(
        source="installed",
        commit=wheel.version,
        recipe="python",
        flags=flags,
        digest=_digest(flags),
        programs={"program": _SCRIPT},
        variables={"interpreter": sys.executable},
    )


def native_build(cache_dir: Path, progress: Progress) -> Build:
    """The native runner, from the cache or compiled now. Many processes may ask at once; one compiles.

    Raises:
        BuildFailed: No SDK, no tools, no place, or it does not compile; the hint says what to do.
    """
    wheel = installed_wheel()
    if not wheel.has_sdk:
        raise BuildFailed(
            f"executorch {wheel.version} carries no C++ SDK to compile a runner against",
            hint="install executorch 1.5 or later, or use the Python runner (`--runner python`)",
        )
    cache = cache_dir / "runners"
    with _disk_errors(cache):
        tools = find_tools(cache)
        flags = {
            "executorch": wheel.version,
            "record": wheel.record,
            "package": str(wheel.package),  # the runner finds its libraries there
            "compiler": f"{tools.compiler} ({tools.compiler_version})",
            "cmake": tools.cmake_version,
            "options": _OPTIONS,
            "sources": _sources_sha256(),
        }
        digest = _digest(flags)
        program = cache / digest[:16] / "runner"
        if not program.exists():
            _make(program, wheel, tools, progress)
    return Build(
        source="installed",
        commit=wheel.version,
        recipe="native",
        flags=flags,
        digest=digest,
        programs={"program": program},
    )


# --- what a runner is made of ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wheel:
    """The installed executorch package.

    Attributes:
        version: Its version.
        package: Its folder.
        record: SHA-256 of the list of its files and their hashes (PEP 376's RECORD).
    """

    version: str
    package: Path
    record: str

    @property
    def has_sdk(self) -> bool:
        """Whether a program can be linked against it: since 1.5."""
        libraries = self.package / "lib"
        return any(libraries.glob("libexecutorch.*")) and (self.package / "include").is_dir()


def installed_wheel() -> Wheel:
    """What is installed, found without importing it.

    Raises:
        BuildFailed: It is not installed.
    """
    distribution = _distribution("executorch")
    record = distribution.read_text("RECORD") or ""
    return Wheel(
        version=distribution.version,
        package=Path(str(distribution.locate_file("executorch"))),
        record=hashlib.sha256(record.encode()).hexdigest(),
    )


@dataclass(frozen=True, slots=True)
class Tools:
    """What compiles a runner."""

    compiler: Path
    compiler_version: str
    cmake: Path
    cmake_version: str
    generator: str


def find_tools(cache: Path) -> Tools:
    """Compiler (`CXX`, else `c++`), CMake and what it drives, on `PATH` or beside the interpreter.

    Args:
        cache: Folder in which the tools' versions are remembered, by path, time and size.

    Raises:
        BuildFailed: One is missing; the hint says how to install it.
    """
    compiler_name = os.environ.get("CXX") or "c++"
    compiler = _find(compiler_name, "apt install g++ (or name a compiler in the environment variable CXX)")
    cmake = _find("cmake", "apt install cmake, or: pip install cmake")
    generator = "Ninja" if _which("ninja") else "Unix Makefiles"
    if generator == "Unix Makefiles":
        _find("make", "apt install make, or: pip install ninja")
    known = _KnownVersions.read(cache)
    versions = {path: known.versions.get(_fingerprint(path)) or _version(path) for path in (compiler, cmake)}
    now = {_fingerprint(path): version for path, version in versions.items()}
    if not now.items() <= known.versions.items():
        _KnownVersions(versions={**known.versions, **now}).write(cache)
    return Tools(compiler, versions[compiler], cmake, versions[cmake], generator)


class _KnownVersions(Value):
    """First lines of `--version`, by the fingerprint of a tool: asking takes longer than all the rest."""

    versions: dict[str, str] = {}

    @classmethod
    def read(cls, cache: Path) -> _KnownVersions:
        try:
            return cls.model_validate_json((cache / "tools.json").read_bytes())
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=cache, prefix=".tools-", delete=False) as file:
            file.write(self.model_dump_json(indent=2))
        Path(file.name).replace(cache / "tools.json")


def _fingerprint(path: Path) -> str:
    status = path.stat()
    return f"{path.resolve()} {status.st_mtime_ns} {status.st_size}"


def _version(path: Path) -> str:
    said = shell.output((str(path), "--version"))
    if not said:
        raise BuildFailed(f"{path} --version fails", hint="reinstall it, or name another compiler in CXX")
    return said.splitlines()[0].strip()


def _find(name: str, hint: str) -> Path:
    found = _which(name)
    if found is None:
        raise BuildFailed(f"no {name} to compile the native runner with", hint=hint)
    return found


def _which(name: str) -> Path | None:
    return shell.which(name) or shell.which(name, Path(sys.executable).parent)


def _distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise BuildFailed(f"{name} is not installed", hint=f"pip install {name}") from error


# --- making it ---------------------------------------------------------------------------------------------------


def _make(program: Path, wheel: Wheel, tools: Tools, progress: Progress) -> None:
    """Compile `program` in a folder beside its own, and move it in whole."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - not needed once the runner is there

    folder = program.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_suffix(".lock"), timeout=_LOCK_S):
            if program.exists():
                return
            for leftover in (folder, *folder.parent.glob(f".{folder.name}-*")):
                shutil.rmtree(leftover, ignore_errors=True)  # of a process that was killed: we hold the lock
            with (
                tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name,
                progress.task(f"compiling the ExecuTorch {wheel.version} runner (once)"),
            ):
                _compile(Path(name), wheel, tools, log=folder.with_suffix(".log"))
                made = Path(name) / "made"
                made.mkdir()
                (Path(name) / "build" / program.name).rename(made / program.name)
                made.rename(folder)
    except Timeout as error:
        raise BuildFailed(
            f"another process has been compiling the same runner for {_LOCK_S:g} s", hint="end it, and try again"
        ) from error


def _compile(folder: Path, wheel: Wheel, tools: Tools, log: Path) -> None:
    """Configure, compile, and see that it starts. Everything the steps say goes to `log`, which stays."""
    build = folder / "build"
    configure = (
        *(str(tools.cmake), "-S", str(_SOURCES), "-B", str(build), "-G", tools.generator),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_COMPILER={tools.compiler}",
        f"-DCMAKE_CXX_FLAGS_RELEASE={_OPTIONS}",
        "-DCMAKE_CXX_FLAGS=",  # these two: CXXFLAGS and LDFLAGS of the environment have no part in it
        "-DCMAKE_EXE_LINKER_FLAGS=",
        f"-DCMAKE_PREFIX_PATH={wheel.package}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DEXECUTORCH_VERSION={wheel.version}",
    )
    steps = (configure, (str(tools.cmake), "--build", str(build)), (str(build / "runner"), "--help"))
    said = ""
    for argv in steps:
        completed = shell.run(Command(argv, timeout_s=_STEP_S))
        said += f"$ {' '.join(argv)}\n{completed.stdout}{completed.stderr}\n"
        log.write_text(said)
        if not completed.ok:
            last = "\n".join(f"    {line}" for line in said.strip().splitlines()[-15:])
            raise BuildFailed(
                f"the native runner cannot be made: {Path(argv[0]).name} {completed.describe()}\n{last}",
                hint=f"the whole log is {log}",
            )


@contextlib.contextmanager
def _disk_errors(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BuildFailed(
            f"the native runner cannot be kept in {cache}: {error}", hint="choose another place with --cache_dir"
        ) from error


def _digest(flags: Mapping[str, str]) -> str:
    return hashlib.sha256("\0".join(f"{key}={value}" for key, value in sorted(flags.items())).encode()).hexdigest()


def _sources_sha256() -> str:
    files = sorted(path for path in _SOURCES.iterdir() if path.is_file())
    return _digest({path.name: _sha256(path) for path in files})


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
