"""Packages of the converter, in a folder of their own in the harness's cache, or in an environment that the user names.

The folder has litert-torch and what it imports, and no more than that: of what it requires, and what keeps it from
being installed beside the harness (an old typing-extensions, for xdsl), a conversion uses nothing. The folder comes
before this interpreter's own packages, where torch, NumPy and pure-Python packages are found.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Task
from harness.files.digests import sha256_of_texts
from harness.files.distributions import find_version
from harness.files.drafts import open_draft, sweep_drafts
from harness.files.locks import FileLock
from harness.shell import pip

PINNED: Final = {
    "absl-py": "2.5.1",
    "ai-edge-litert": "2.3.0",
    "ai-edge-quantizer": "0.10.0",
    "flatbuffers": "25.12.19",
    "immutabledict": "4.2.1",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "litert-converter": "0.5.0",
    "litert-torch": "0.10.0",
    "ml_dtypes": "0.6.0",
    "opt_einsum": "3.4.0",
    "torchao": "0.18.0",
    "tqdm": "4.70.1",
}
"""Versions in the folder: equal packages make equal files."""

_UNLESS_INSTALLED: Final = {"scipy": "1.17.1"}
"""Packages that are imported, and only taken where this interpreter lacks them: they change no file."""

_TOLD: Final = ("litert-torch", "litert-converter", "ai-edge-quantizer", "ai-edge-litert", "torch")
"""Packages of an environment of the user's that can change a file."""

_INSTALL_S: Final = 3600.0
_ASK_S: Final = 60.0
_MEGABYTES: Final = 770


class ConverterEnvironment(Struct, frozen=True):
    """How the converter is started.

    Attributes:
        python: The interpreter.
        folder: Folder with its packages; None where the interpreter has them.
        versions: Versions of the packages that can change a file.
    """

    python: Path
    folder: Path | None
    versions: Mapping[str, str]

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for its process."""
        return {} if self.folder is None else {"PYTHONPATH": str(self.folder)}


def describe_converter(python: Path | None, cache_dir: Path) -> ConverterEnvironment:
    """Return the converter as it is or will be.

    Args:
        python: Interpreter of an environment with litert-torch; None for a folder in the cache.
        cache_dir: The cache of the harness.

    Raises:
        EnvironmentProblem: The interpreter cannot be started, or has no litert-torch.
    """
    if python is not None:
        return ConverterEnvironment(python, None, _ask_versions(python))
    packages = {**PINNED, **{name: text for name, text in _UNLESS_INSTALLED.items() if find_version(name) is None}}
    digest = sha256_of_texts({**packages, "python": sys.version, "platform": sys.platform})
    return ConverterEnvironment(Path(sys.executable), cache_dir / "converters" / f"litert-torch-{digest[:16]}", PINNED)


def prepare_converter(converter: ConverterEnvironment, progress: Task) -> None:
    """Install the packages where they are not: once, by one process; others wait for it.

    Raises:
        EnvironmentProblem: They cannot be installed.
    """
    folder = converter.folder
    if folder is None or folder.is_dir():
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(f".{folder.name}.lock"))
        if not lock.acquire():
            progress.update(text="waiting for another process that installs litert-torch")
            shell.poll_until(lock.acquire)
        with lock:
            if not folder.is_dir():
                _install(folder, progress)
    except OSError as error:
        raise EnvironmentProblem(f"cannot install litert-torch in {folder}: {error}", hint=_HINT) from error


_HINT: Final = (
    "make an environment with `pip install litert-torch`, and name its interpreter with --tflite-converter; or take a "
    "finished .tflite file by its `location`"
)


def _install(folder: Path, progress: Task) -> None:
    began = time.monotonic()
    progress.update(text=f"installing litert-torch {PINNED['litert-torch']} in the cache ({_MEGABYTES} MB, once)")
    sweep_drafts(folder.parent)
    wanted = [f"{name}=={version}" for name, version in PINNED.items()]
    wanted += [f"{name}=={version}" for name, version in _UNLESS_INSTALLED.items() if find_version(name) is None]
    with open_draft(folder.parent) as draft:
        completed = pip.run(
            "install", "--quiet", "--no-deps", "--only-binary=:all:", "--target", str(draft), *wanted,
            timeout_s=_INSTALL_S,
        )  # fmt: skip
        if not completed.ok:
            raise EnvironmentProblem(
                f"litert-torch cannot be installed for the conversion: {pip.describe_failure(completed)}", hint=_HINT
            )
        shutil.rmtree(draft / "bin", ignore_errors=True)  # programs that nobody starts
        draft.rename(folder)
    progress.update(text=f"installed litert-torch in {time.monotonic() - began:.0f} s")


def _ask_versions(python: Path) -> Mapping[str, str]:
    """Ask an interpreter for the versions of its packages; nothing heavy is imported."""
    script = (
        "import importlib.metadata as m, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try: print(name, m.version(name))\n"
        "    except m.PackageNotFoundError: print(name, 'absent')\n"
    )
    try:
        completed = shell.run(Command((str(python), "-c", script, *_TOLD), timeout_s=_ASK_S))
    except EnvironmentProblem as error:
        raise EnvironmentProblem(f"--tflite-converter: {error.message}", hint=_HINT) from error
    versions = dict(line.split(maxsplit=1) for line in completed.stdout.splitlines() if len(line.split()) == len("nv"))
    if not completed.ok or versions.get("litert-torch", "absent") == "absent":
        reason = "it has no litert-torch" if completed.ok else completed.describe()
        raise EnvironmentProblem(f"--tflite-converter {python}: {reason}", hint=_HINT)
    return versions
