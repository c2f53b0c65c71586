"""Files in the container of an app, through go-ios: AFC behind house arrest, which needs no tunnel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem
from platforms.ios.link.go_ios.causes import find_cause
from platforms.ios.link.go_ios.program import GoIosProgram, ProgramOutput
from platforms.ios.link.go_ios.refusals import MISSING
from platforms.ios.link.local_files import temporary_folder
from platforms.ios.link.words import check_bundle, check_remote, shorten

_STEP_BYTES: Final = 64 << 10
"""A copy that does not get so far within the limit of an answer is given up."""
_MOST_BYTES: Final = 16 << 30
"""A file that is longer is taken for one without end."""
_TREE_ATTEMPTS: Final = 3
_ENTRY: Final = re.compile(r"((?:\|  )*)\|-(.*)", re.DOTALL)
"""Entry of `ios fsync tree`: a bar for each folder of its path, its name, and `/` if it is a folder."""


class ContainerFiles:
    """Files in the containers of apps. Any thread may use it.

    Args:
        program: go-ios.
    """

    def __init__(self, program: GoIosProgram) -> None:
        self._program = program

    def push(self, udid: str, bundle: str, local: Path, remote: str) -> None:
        """Copy a file to a phone; folders are made. See `PhoneClient.push`."""
        doing = f"{shorten(remote)} was copied to it"
        if not local.is_file():
            raise EnvironmentProblem(f"there is no file {local}")
        words = ("push", f"--srcPath={local.resolve()}", f"--dstPath={check_remote(remote)}")
        timeout_s = self._program.limits.answer_s + self._program.limits.sending_s(local)
        output = self._call(udid, bundle, *words, doing=doing, timeout_s=timeout_s)
        if MISSING in output.failure and (folder := remote.rpartition("/")[0]):
            made = self._call(udid, bundle, "mkdir", f"--path={folder}", doing=doing)
            if made.failure:
                raise find_cause(self._program, udid, doing, made)
            output = self._call(udid, bundle, *words, doing=doing, timeout_s=timeout_s)
        if output.failure:
            raise find_cause(self._program, udid, doing, output)

    def pull(self, udid: str, bundle: str, remote: str, local: Path) -> None:
        """Copy a file from a phone. See `PhoneClient.pull`."""
        doing = f"{shorten(remote)} was copied from it"
        with temporary_folder(local.parent) as folder:
            words = ("pull", f"--srcPath={check_remote(remote)}", f"--dstPath={folder}")
            output = self._call(udid, bundle, *words, doing=doing, progress=lambda: _steps(folder))
            if MISSING in output.failure:
                raise FileNotFoundError(f"{udid} has no file {shorten(remote)} in the container of {bundle}")
            if output.failure:
                raise find_cause(self._program, udid, doing, output)
            arrived = folder / remote.rstrip("/").rpartition("/")[2]
            if not arrived.is_file():
                raise EnvironmentProblem(f"{shorten(remote)} in the container of {bundle} on {udid} is no file")
            arrived.chmod(0o644)
            arrived.replace(local)

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        """Remove a file or folder. See `PhoneClient.remove`."""
        doing = f"{shorten(remote)} was removed"
        words = ("rm", "--r", f"--path={check_remote(remote)}")
        output = self._call(udid, bundle, *words, doing=doing)
        if output.failure and MISSING not in output.failure:
            raise find_cause(self._program, udid, doing, output)

    def list(self, udid: str, bundle: str, folder: str) -> Sequence[str]:
        """List files below a folder. See `PhoneClient.list_files`."""
        doing = f"files of {bundle} were listed"
        words = ("tree", f"--path={check_remote(folder)}")
        for _ in range(_TREE_ATTEMPTS):
            output = self._call(udid, bundle, *words, doing=doing)
            if not output.failure:
                return parse_tree(output.stdout)
            if MISSING not in output.failure:
                break
            if not output.stdout.strip():
                return ()
            # otherwise a file went away while its folder was listed
        raise find_cause(self._program, udid, doing, output)

    def _call(
        self,
        udid: str,
        bundle: str,
        *words: str,
        doing: str,
        timeout_s: float | None = None,
        progress: Callable[[], object] | None = None,
    ) -> ProgramOutput:
        arguments = ("fsync", f"--app={check_bundle(bundle)}", *words)
        return self._program.call(udid, *arguments, doing=doing, timeout_s=timeout_s, progress=progress)


def _steps(folder: Path) -> int:
    """Return how far a copy into a folder is."""
    return min(sum(file.stat().st_size for file in folder.iterdir()), _MOST_BYTES) // _STEP_BYTES


def parse_tree(text: str) -> tuple[str, ...]:
    """Return the paths of all files of a tree, relative to its folder.

    A name with a line end cannot be told from two entries: its file may be missing from the answer, or have parts that
    do not exist.
    """
    folders: list[str] = []
    files: list[str] = []
    depth_of_root: int | None = None
    for bars, name in _entries(text):
        depth = len(bars) // 3
        depth_of_root = depth if depth_of_root is None else depth_of_root
        del folders[max(0, depth - depth_of_root) :]
        if name.endswith("/"):
            folders.append(name[:-1])
        else:
            files.append("/".join((*folders, name)))
    return tuple(files)


def _entries(text: str) -> Iterator[tuple[str, str]]:
    pending: str | None = None
    for line in text.split("\n"):
        if _ENTRY.match(line):
            if pending is not None:
                yield _parts(pending)
            pending = line
        elif pending is not None and line:
            pending += f"\n{line}"
    if pending is not None:
        yield _parts(pending)


def _parts(entry: str) -> tuple[str, str]:
    match = _ENTRY.fullmatch(entry)
    return (match.group(1), match.group(2)) if match else ("", entry)
