"""Keep every result in a tree of folders, one folder per result, with an index beside it. Always on.

    <folder>/<device>/<framework>/<model>/<metric>/<identifier>/<YYYY>/<MM>/<DD>/<commit>/<n>/
        result.json         the canonical result, pretty
        logs/<name>.txt     what each launch wrote
        artifacts/<name>    what probes left, such as recorded profiles
    <folder>/index.jsonl    one line per result: `harness.store.index`
    <folder>/doubts.json    devices whose results are in doubt: `harness.store.doubts`

The hierarchy is FAI-PEP's. The date is the commit's (UTC), or that of the measurement where the build has no commit
time. A numbered folder that exists is complete, and is never written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from harness.config.settings import Settings
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.probe import Artifact
from harness.core.protocols import Reporter
from harness.core.result import RawLog, Report, make_writable
from harness.files.writability import check_writable_folder
from harness.store.canonical_json import RESULT_FILE, to_pretty_json
from harness.store.doubts import DOUBTS_FILE, keep_doubts
from harness.store.index import append_entry, build_entry, check_index, read_index
from harness.store.known_devices import INDEX_FILE
from harness.store.tree import ARTIFACTS, LOGS, encode_segment, publish_folder, result_folder


class LocalReporter:
    """Reporter that keeps results below one folder, which several processes may share."""

    name = "local"
    keeps_results: Literal[True] = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        """Check that the folder and its index can be written.

        Raises:
            EnvironmentProblem: They cannot.
        """
        try:
            check_writable_folder(self._folder)
            check_index(self._folder)
        except OSError as error:
            raise EnvironmentProblem(
                f"results cannot be kept in {self._folder}: {error.strerror or error}",
                hint="free disk space or fix permissions there, or name another folder with --local-reporter",
            ) from error

    def report(self, report: Report) -> str:
        """Keep one result with its logs; returns its folder."""
        result = make_writable(report.result)
        files: dict[str, str | bytes] = {
            RESULT_FILE: to_pretty_json(result) + "\n",
            **_log_files(report.logs),
            **_artifact_files(report.artifacts),
        }
        try:
            place = publish_folder(self._folder, self._folder / result_folder(result), files)
        except OSError as error:
            raise ReporterFailed(
                f"cannot keep the result in {self._folder}: {error.strerror or error}",
                hint="free disk space or fix permissions there, or name another folder with --local-reporter",
            ) from error
        try:
            append_entry(self._folder, build_entry(result, place.relative_to(self._folder)))
        except OSError as error:
            raise ReporterFailed(
                f"the result is kept in {place}, but {self._folder / INDEX_FILE} cannot be written: "
                f"{error.strerror or error}",
                hint=f"remove {INDEX_FILE} once it can be written: it is then rebuilt from the results",
            ) from error
        return str(place)

    def stored_uids(self) -> frozenset[str]:
        """Return the identifiers of all results below the folder."""
        return frozenset(entry.uid for entry in read_index(self._folder).entries)

    def keep_doubts(self, doubts: Sequence[DeviceDoubt]) -> None:
        """Keep of which devices the results are in doubt, in `doubts.json`.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        try:
            keep_doubts(self._folder, doubts)
        except OSError as error:
            raise EnvironmentProblem(
                f"{self._folder / DOUBTS_FILE} cannot be written: {error.strerror or error}",
                hint="free disk space or fix permissions there",
            ) from error

    def close(self) -> None:
        """Do nothing: every result is on the disk."""


def create(settings: Settings) -> Reporter:
    """Create the reporter for `--local-reporter`, or for the user's data folder."""
    return LocalReporter(settings.local_reporter)


def _artifact_files(artifacts: Iterable[Artifact]) -> dict[str, bytes]:
    return {f"{ARTIFACTS}/{encode_segment(artifact.name)}": artifact.content for artifact in artifacts}


def _log_files(logs: Iterable[RawLog]) -> dict[str, str]:
    files: dict[str, str] = {}
    for log in logs:
        name, number = f"{LOGS}/{encode_segment(log.name)}.txt", 1
        while name in files:
            number += 1
            name = f"{LOGS}/{encode_segment(log.name)}%-{number}.txt"
        files[name] = log.text
    return files
