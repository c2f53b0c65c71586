"""Files that stay on a phone between sessions, addressed by content, so that none is transferred twice.

    <workdir>/store/<sha256>                    a file, read-only
    <workdir>/programs/<digest of the set>/     the programs of a build under their own names, beside what they load
    <workdir>/sessions/<session>/               removed after the session: incoming files, folders of benchmarks

The store is listed when a session begins; a file is read back (by its hash) when a session first uses it, and its stamp
is checked after each program: no result is reported for a file that is not the one that it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem, OutOfSpace
from platforms.android.files.eviction import StoreContents, select_evictions
from platforms.android.files.staged_files import DigestCache, StagedFile
from platforms.android.launch.script import STAMP, STAMP_MARK
from platforms.android.link.errors import out_of_space_error
from platforms.android.link.phone import Phone, ScriptResult, hash_timeout_s
from platforms.android.scripts import read_script
from platforms.android.state.state import STATE_SCRIPT
from platforms.staging import changed_input

_STAGE: Final = read_script("stage.sh") + STATE_SCRIPT
_OPEN_TO_APPS: Final = read_script("open_to_apps.sh")
_READ_STAMPS: Final = 'xargs -0 stat -L -c "$2" <"$1" 2>&1'
_REMOVE: Final = 'watched=$1; cd "$2" && shift 2 && rm -rf -- "$@" && cat >"$watched"'  # which may need the room


class Store:
    """The store of one phone during one session.

    Args:
        phone: The phone.
        workdir: Our working folder there.
        session: This session's folder there.
        contents: Contents of the store when the session began.
    """

    def __init__(self, phone: Phone, workdir: str, session: str, contents: StoreContents) -> None:
        self._phone = phone
        self._workdir = workdir
        self._session = session
        self._contents = contents
        self._digests = DigestCache()
        self._used_items: set[str] = set()
        self._item_by_path: dict[str, str] = {}
        self._sha256_by_path: dict[str, str] = {}
        self._library_folders: set[str] = set()
        self._stamps = ""

    @property
    def watched(self) -> str:
        """The phone's list of files that programs must not change."""
        return f"{self._session}/watched"

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path], folder: str) -> tuple[dict[str, str], str]:
        """Create a folder with links to files, and provide programs: one round trip if nothing is missing, else two.

        Args:
            files: By name, which may contain folders.
            programs: By placeholder.
            folder: The new folder on the phone.

        Returns:
            Paths of the programs by placeholder, and the output of `STATE_SCRIPT` afterwards.

        Raises:
            BenchmarkFailed: Invalid names.
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: No space, or a file arrives damaged.
            OSError: A local file cannot be read.
        """
        staged_programs = self._digests.address_programs(programs, self._workdir)
        by_location = {program.location: program for program in staged_programs.values()}
        staged = [*self._digests.address_files(files, folder), *by_location.values()]
        result = self._arrange(staged, folder)
        if damaged := self._find_damaged(staged, result):  # it was stored, and has changed there since
            self._remove({file.item for file in damaged})
            result = self._arrange(staged, folder)
        if damaged := self._find_damaged(staged, result):
            self._remove({file.item for file in damaged})
            raise EnvironmentProblem(
                f"{damaged[0].local.name} did not arrive on {self._phone.name} as it was sent",
                hint="try another cable or port; is the phone's storage failing?",
            )
        self._used_items.update(file.item for file in staged)
        if len(by_location) > 1:
            self._library_folders.update(program.path.rpartition("/")[0] for program in by_location.values())
        self._item_by_path.update({file.path: file.item for file in staged})
        self._sha256_by_path.update({file.path: file.sha256 for file in staged})
        self._stamps, _, state = result.stdout.partition("[stamps]\n")[2].partition("[state]\n")
        return {key: program.path for key, program in staged_programs.items()}, state

    def release(self, folder: str, paths: Collection[str]) -> None:
        """Remove a benchmark's folder, and files of it from the store unless another folder has them too.

        Args:
            folder: The folder on the phone.
            paths: Paths of these files.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The phone does not remove them.
        """
        items = {self._item_by_path[path] for path in paths if path in self._item_by_path}
        remaining = {path: item for path, item in self._item_by_path.items() if not path.startswith(f"{folder}/")}
        self._item_by_path = remaining
        self._remove(items - set(remaining.values()), folder)

    def library_folder(self, word: str) -> str | None:
        """Return where a program finds its libraries; None when the word is no program, or it has none beside it."""
        folder = word.rpartition("/")[0]
        return folder if folder in self._library_folders else None

    def sha256_of(self, path: str) -> str:
        """Return the hash of a staged file.

        Args:
            path: Its path on the phone.
        """
        return self._sha256_by_path[path]

    def open_to_apps(self, folder: str) -> None:
        """Let apps read a benchmark's folder.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: No space for the copies.
        """
        arguments = (self._workdir, self._session, folder, self.watched, STAMP)
        result = self._phone.sh(_OPEN_TO_APPS, *arguments, timeout_s=hash_timeout_s(0))
        if result.exit_code:
            raise workdir_error(self._phone.name, folder, result)
        now, before = _stamps_by_path(result.stdout), _stamps_by_path(self._stamps)
        renewed = {path: now.get(path, "") if path.startswith(f"{folder}/") else line for path, line in before.items()}
        self._stamps = "".join(f"{line}\n" for line in renewed.values())

    def check(self, digest: str, program_end: str) -> None:
        """Check that no staged file has changed. One that has is not used again.

        Args:
            digest: Hash of the stamps of all watched files, after a program.
            program_end: Clause about the end of that program (`staging.describe_end`).

        Raises:
            BenchmarkFailed: A file has changed.
            DeviceLost: The phone became unreachable.
        """
        if not self._item_by_path or digest == hashlib.sha256(self._stamps.encode()).hexdigest():
            return
        now = _stamps_by_path(self._phone.sh(_READ_STAMPS, self.watched, STAMP).stdout)
        changed = [path for path, line in _stamps_by_path(self._stamps).items() if now.get(path) != line]
        if changed:
            self._remove({self._item_by_path[path] for path in changed})
            raise changed_input(changed[0].rpartition("/")[2], program_end)

    def _arrange(self, staged: Sequence[StagedFile], folder: str) -> ScriptResult:
        wanted = {file.item for file in staged}
        self._send([file for file in staged if file.item not in self._contents.items], self._used_items | wanted)
        new_bytes = sum(file.size_bytes for file in staged if file.item not in self._used_items)
        lines = (
            f"{'old' if file.item in self._used_items else 'new'} {file.location}\n{file.path}\n" for file in staged
        )
        result = self._phone.sh(
            _STAGE,
            self._workdir,
            self._session,
            folder,
            STAMP,
            stdin="".join(lines).encode(),
            timeout_s=hash_timeout_s(new_bytes),
        )
        if result.exit_code:
            raise workdir_error(self._phone.name, self._workdir, result)
        return result

    def _find_damaged(self, staged: Sequence[StagedFile], result: ScriptResult) -> list[StagedFile]:
        """Return files that are missing, or whose hash on the phone, read for the first time, is not the local one."""
        hashes, _, rest = result.stdout.partition("[stamps]\n")
        sha256_by_location = {
            location: sha256 for sha256, _, location in (line.partition("  ") for line in hashes.splitlines())
        }
        present = _stamps_by_path(rest.partition("[state]\n")[0])
        return [
            file
            for file in staged
            if file.path not in present
            or (file.item not in self._used_items and sha256_by_location.get(file.location) != file.sha256)
        ]

    def _send(self, missing: Sequence[StagedFile], in_use: Collection[str]) -> None:
        by_location = {file.location: file for file in missing}
        if not by_location:
            return
        need_bytes = sum(file.size_bytes for file in by_location.values())
        if evictions := select_evictions(self._contents, need_bytes, in_use):
            self._remove(set(evictions))
        incoming = f"{self._session}/incoming"
        try:
            self._phone.send(
                [
                    (file.local, f"{incoming}/{file.location}", 0o555 if file.is_program else 0o444)
                    for file in by_location.values()
                ]
            )
        except OutOfSpace:
            self._phone.sh('rm -rf "$1"', incoming)
            raise
        for file in by_location.values():
            self._contents = self._contents.add(file.item, file.size_bytes)

    def _remove(self, items: Collection[str], *folders: str) -> None:
        """Remove items and folders from the phone, and their files from those that are watched."""
        self._item_by_path = {path: item for path, item in self._item_by_path.items() if item not in items}
        stamps = {path: line for path, line in _stamps_by_path(self._stamps).items() if path in self._item_by_path}
        self._stamps = "".join(f"{line}\n" for line in stamps.values())
        watched = "".join(f"{path}\0" for path in stamps)
        names = (*sorted(items), *folders)
        result = self._phone.sh(_REMOVE, self.watched, self._workdir, *names, stdin=watched.encode())
        if result.exit_code:
            raise workdir_error(self._phone.name, self._workdir, result)
        self._contents = self._contents.remove(items)
        self._used_items -= set(items)


def workdir_error(phone: str, folder: str, result: ScriptResult) -> EnvironmentProblem:
    """Return the error of a script that could not work in our own folder."""
    reason = (result.stderr.strip().splitlines() or [f"exit status {result.exit_code}"])[-1]
    if "No space left" in result.stderr:
        return out_of_space_error(phone, folder, reason)
    return EnvironmentProblem(
        f"cannot write to {folder} on {phone}: {reason}", hint="is --android-dir a folder that adb may write to?"
    )


def _stamps_by_path(stamps: str) -> dict[str, str]:
    return {line.rpartition(STAMP_MARK)[0]: line for line in stamps.splitlines()}
