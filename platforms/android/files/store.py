"""What we keep on a phone: files by their content, programs by their set. Nothing there is moved twice.

    <own>/store/<sha256>                    a file, read-only
    <own>/programs/<digest of the set>/     the programs of a build under their own names, beside what they load
    <own>/sessions/<session>/               gone after the session: incoming files, folders of benchmarks

What is there is listed when a session begins, read back (by its hash) when a session first uses it, and looked at after
each program: no result is told of a file that is not the one that it names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from platforms.android.files.eviction import Entry, Kept, evicted
from platforms.android.files.staged_files import Digests, Wanted
from platforms.android.launch.script import STAMP, STAMP_MARK
from platforms.android.link.errors import out_of_space
from platforms.android.link.phone import Phone, Said, hashing_s
from platforms.android.state.state import STATE_SCRIPT

_STAGE: Final = (
    r"""
own=$1 session=$2 folder=$3 stamp=$4
each() { list=$1; shift; [ ! -s "$list" ] || xargs -0 "$@" <"$list"; }
list() { print -rn -- "$1"; print -n '\0'; }
cd "$own" && mkdir -p store programs "$folder" || exit 1
for entry in "$session"/incoming/*/*; do
  [ -e "$entry" ] || continue
  kind=${entry%/*} kind=${kind##*/}
  rm -rf "$kind/${entry##*/}" && mv -f "$entry" "$kind/" || exit 1
done
rm -rf "$session/incoming"
: >"$session/new"
while read -r new place && IFS= read -r path; do
  [ "$new" = old ] || list "$place" >>"$session/new"
  list "$path" >>"$session/watched"
  case $place in store/*) ;; *) continue ;; esac
  case ${path#"$folder/"} in */*) mkdir -p "${path%/*}" ;; esac
  ln -sf "$own/$place" "$path" || exit 1
done
each "$session/new" touch -c
each "$session/new" sha256sum
echo '[stamps]'
each "$session/watched" stat -L -c "$stamp"
echo '[state]'
"""
    + STATE_SCRIPT
)
"""Takes in what came, links, reads back what is new in this session, and tells the stamps of everything watched."""
_LOOK: Final = 'xargs -0 stat -L -c "$2" <"$1" 2>&1'
_FORGET: Final = 'cat >"$1"; cd "$2" && shift 2 && rm -rf -- "$@"'
_OPEN: Final = r"""
own=$1 session=$2 folder=$3 watched=$4 stamp=$5
find "$folder" -type l | while IFS= read -r link; do
  cp "$link" "$link.copy" && mv -f "$link.copy" "$link" || exit 1
done || exit 1
chmod -R a+rX "$own/programs" "$folder" && chmod a+x "$own" "$own/sessions" "$session" || exit 1
if [ -s "$watched" ]; then xargs -0 stat -L -c "$stamp" <"$watched"; fi
"""
"""An app is another user: it is given copies of its own, because links lead into what is ours."""


class Store:
    """The store of one phone during one session.

    Args:
        phone: The phone.
        own: Our folder there.
        session: This session's folder there.
        kept: What was there when the session began.
    """

    def __init__(self, phone: Phone, own: str, session: str, kept: Kept) -> None:
        self._phone = phone
        self._own = own
        self._session = session
        self._kept = kept
        self._digests = Digests()
        self._used: set[str] = set()
        self._entry_by_path: dict[str, str] = {}
        self._sha256_by_path: dict[str, str] = {}
        self._together: set[str] = set()
        self._stamps = ""

    @property
    def watched(self) -> str:
        """The phone's list of files that programs must leave alone."""
        return f"{self._session}/watched"

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path], folder: str) -> tuple[dict[str, str], str]:
        """Make a folder with links to files, and programs ready. One round trip when everything is there, else two.

        Args:
            files: By name, which may have folders in it.
            programs: By placeholder.
            folder: The new folder on the phone.

        Returns:
            Where the programs are, by placeholder; and what `STATE_SCRIPT` printed afterwards.

        Raises:
            BenchmarkFailed: Names that cannot be.
            DeviceLost: The phone went away.
            EnvironmentProblem: No space, or what arrives is not what was sent.
            OSError: A file here cannot be read.
        """
        started = self._digests.programs(programs, self._own)
        wanted = [*self._digests.files(files, folder), *{one.place: one for one in started.values()}.values()]
        said = self._arranged(wanted, folder)
        if bad := self._not_as_sent(wanted, said):  # it was there, but its bytes are not its own any more
            self._forget({one.entry for one in bad})
            said = self._arranged(wanted, folder)
        if bad := self._not_as_sent(wanted, said):
            self._forget({one.entry for one in bad})
            raise EnvironmentProblem(
                f"{bad[0].local.name} did not arrive on {self._phone.name} as it was sent",
                hint="try another cable or port; is the phone's storage failing?",
            )
        self._used.update(one.entry for one in wanted)
        if len({one.path for one in started.values()}) > 1:
            self._together.update(one.path.rpartition("/")[0] for one in started.values())
        self._entry_by_path.update({one.path: one.entry for one in wanted})
        self._sha256_by_path.update({one.path: one.sha256 for one in wanted})
        self._stamps, _, state = said.stdout.partition("[stamps]\n")[2].partition("[state]\n")
        return {key: one.path for key, one in started.items()}, state

    def libraries_of(self, word: str) -> str | None:
        """Where a program finds what came with it; None when the word is no program, or it came alone."""
        folder = word.rpartition("/")[0]
        return folder if folder in self._together else None

    def sha256_of(self, path: str) -> str:
        """The hash of a file that was staged.

        Args:
            path: Where it is on the phone.
        """
        return self._sha256_by_path[path]

    def open_to_apps(self, folder: str) -> None:
        """Let apps read a folder that was staged.

        Raises:
            DeviceLost: The phone went away.
            EnvironmentProblem: No space for the copies.
        """
        said = self._phone.sh(_OPEN, self._own, self._session, folder, self.watched, STAMP, timeout_s=hashing_s(0))
        if said.exit_code:
            raise refused(self._phone.name, folder, said)
        now = _lines(said.stdout)
        before = _lines(self._stamps)
        renewed = {path: now.get(path, "") if path.startswith(f"{folder}/") else line for path, line in before.items()}
        self._stamps = "".join(f"{line}\n" for line in renewed.values())

    def check(self, digest: str, fate: str) -> None:
        """See that every file that was given is what it was. What is not is not given again.

        Args:
            digest: Of the stamps of the watched files, after a program.
            fate: What became of that program, in words.

        Raises:
            BenchmarkFailed: Something has changed.
            DeviceLost: The phone went away.
        """
        if not self._entry_by_path or digest == hashlib.sha256(self._stamps.encode()).hexdigest():
            return
        now = _lines(self._phone.sh(_LOOK, self.watched, STAMP).stdout)
        changed = [path for path, line in _lines(self._stamps).items() if now.get(path) != line]
        if not changed:
            return
        self._forget({self._entry_by_path[path] for path in changed})
        raise BenchmarkFailed(
            f"{changed[0].rpartition('/')[2]} was changed while a program used it ({fate}): "
            "nobody knows what was measured",
            hint="let the program write elsewhere ({TGTDIR}), or give it a copy of its own",
        )

    def _arranged(self, wanted: Sequence[Wanted], folder: str) -> Said:
        self._bring([one for one in wanted if one.entry not in self._kept.entries])
        new = [one for one in wanted if one.entry not in self._used]
        lines = (f"{'old' if one.entry in self._used else 'new'} {one.place}\n{one.path}\n" for one in wanted)
        said = self._phone.sh(
            _STAGE,
            self._own,
            self._session,
            folder,
            STAMP,
            stdin="".join(lines).encode(),
            timeout_s=hashing_s(sum(one.size_bytes for one in new)),
        )
        if said.exit_code:
            raise refused(self._phone.name, self._own, said)
        return said

    def _not_as_sent(self, wanted: Sequence[Wanted], said: Said) -> list[Wanted]:
        """What is not there, or was read back for the first time in this session and is not what it is here."""
        sums, _, rest = said.stdout.partition("[stamps]\n")
        found = {place: sha256 for sha256, _, place in (line.partition("  ") for line in sums.splitlines())}
        there = _lines(rest.partition("[state]\n")[0])
        return [
            one
            for one in wanted
            if one.path not in there or (one.entry not in self._used and found.get(one.place) != one.sha256)
        ]

    def _bring(self, missing: Sequence[Wanted]) -> None:
        by_place = {one.place: one for one in missing}
        if not by_place:
            return
        need_bytes = sum(one.size_bytes for one in by_place.values())
        if gone := evicted(self._kept, need_bytes, self._used):
            self._forget(set(gone))
        self._phone.send(
            [
                (one.local, f"{self._session}/incoming/{one.place}", 0o555 if one.is_program else 0o444)
                for one in by_place.values()
            ]
        )
        for one in by_place.values():
            self._keep(one)

    def _keep(self, one: Wanted) -> None:
        before = self._kept.entries.get(one.entry, Entry(0, 0.0))
        entry = Entry(before.size_bytes + one.size_bytes, float("inf"))
        free = None if self._kept.free_bytes is None else self._kept.free_bytes - one.size_bytes
        self._kept = Kept({**self._kept.entries, one.entry: entry}, free)

    def _forget(self, entries: Collection[str]) -> None:
        """Remove them from the phone, and from what is watched."""
        self._entry_by_path = {path: entry for path, entry in self._entry_by_path.items() if entry not in entries}
        lines = _lines(self._stamps)
        self._stamps = "".join(f"{lines[path]}\n" for path in lines if path in self._entry_by_path)
        watched = "".join(f"{path}\0" for path in lines if path in self._entry_by_path)
        said = self._phone.sh(_FORGET, self.watched, self._own, *sorted(entries), stdin=watched.encode())
        if said.exit_code:
            raise refused(self._phone.name, self._own, said)
        freed = sum(entry.size_bytes for place, entry in self._kept.entries.items() if place in entries)
        left = {place: entry for place, entry in self._kept.entries.items() if place not in entries}
        self._kept = Kept(left, None if self._kept.free_bytes is None else self._kept.free_bytes + freed)
        self._used -= set(entries)


def refused(phone: str, own: str, said: Said) -> EnvironmentProblem:
    """The phone did not let us work in our own folder."""
    reason = (said.stderr.strip().splitlines() or [f"exit status {said.exit_code}"])[-1]
    if "No space left" in said.stderr:
        return out_of_space(phone, own, reason)
    return EnvironmentProblem(
        f"{phone} does not let us work in {own}: {reason}", hint="is --android_dir a folder that adb may write?"
    )


def _lines(stamps: str) -> dict[str, str]:
    return {line.rpartition(STAMP_MARK)[0]: line for line in stamps.splitlines()}
