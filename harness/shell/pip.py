"""Wheels of a package index, by pip of this interpreter. Nothing is installed: this environment is never changed."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Final

from harness.core.command import Command, Completed
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.shell.starting import run as run_program

_DOWNLOAD_S: Final = 3600.0
_UNREACHABLE: Final = ("Retrying", "Could not fetch URL", "connection", "Temporary failure", "--no-index")
_GLIBC_MINORS: Final = range(40, 16, -1)
"""Versions 2.x of glibc in the tags of wheels for Linux (PEP 600), newest first."""


def run(*arguments: str, timeout_s: float) -> Completed:
    """Run pip. The index is that of its own settings."""
    argv = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries=2", *arguments)
    return run_program(Command(argv, timeout_s=timeout_s))


def download_wheel(package: str, version: str, folder: Path, *, machine: str | None = None) -> Path:
    """Download the wheel of a version; pip checks it against the hash that the index names.

    Args:
        package: Name of the distribution.
        version: The version.
        folder: An empty folder.
        machine: Processor of the Linux machines that it is for, such as `aarch64`; None stands for this machine.

    Raises:
        BuildFailed: The index has no such wheel for this version of Python.
        EnvironmentProblem: The index cannot be reached.
    """
    platforms = () if machine is None else tuple(f"--platform=manylinux_2_{minor}_{machine}" for minor in _GLIBC_MINORS)
    completed = run(
        "download",
        *("--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder), *platforms),
        f"{package}=={version}",
        timeout_s=_DOWNLOAD_S,
    )
    wheels = sorted(folder.glob("*.whl"))
    if not completed.ok or len(wheels) != 1:
        failure = EnvironmentProblem if is_unreachable(completed) else BuildFailed
        purpose = "this interpreter" if machine is None else f"Linux on {machine} and this version of Python"
        raise failure(
            f"{package} {version} cannot be downloaded: {describe_failure(completed)}",
            hint=f"check the network and pip's index; only wheels for {purpose} are taken",
        )
    return wheels[0]


def is_unreachable(completed: Completed) -> bool:
    """Return whether pip failed because the index cannot be reached."""
    return completed.timed_out or any(sign in completed.stderr for sign in _UNREACHABLE)


def describe_failure(completed: Completed) -> str:
    """Return the last error of pip."""
    errors = [line.removeprefix("ERROR: ") for line in completed.stderr.splitlines() if line.startswith("ERROR: ")]
    return errors[-1] if errors else completed.describe()


def unpack_wheel(wheel: Path, folder: Path) -> None:
    """Unpack a wheel; nothing is written outside the folder, and programs stay executable.

    Raises:
        BuildFailed: It is damaged, or one of its files would lie elsewhere.
    """
    top = folder.resolve()
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                if not (top / member.filename).resolve().is_relative_to(top):
                    raise BuildFailed(f"{wheel.name} holds a file that would lie outside: {member.filename}")
                unpacked = Path(archive.extract(member, top))
                if member.external_attr >> 16 & 0o111 and unpacked.is_file():
                    unpacked.chmod(unpacked.stat().st_mode | 0o111)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as error:
        raise BuildFailed(f"{wheel.name} is damaged: {error}", hint="`pip cache purge`, then again") from error
