"""Files of an iPhone, through devicectl: those in the containers of apps, and crash reports."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem
from platforms.ios.link.client import CrashReport
from platforms.ios.link.crash_names import process_of
from platforms.ios.link.devicectl.causes import find_cause
from platforms.ios.link.devicectl.documents import FileRecord, FilesResult
from platforms.ios.link.devicectl.program import ANSWER_S, DevicectlAnswer, DevicectlProgram
from platforms.ios.link.local_files import temporary_folder
from platforms.ios.link.words import check_bundle, check_remote, shorten

_PULL_S: Final = 900.0
_SLOWEST_BYTES_PER_S: Final = 1 << 20
_CRASH_LOGS: Final = ("--domain-type", "systemCrashLogs")
_SUFFIX: Final = ".ips"
_MOST_BYTES: Final = 16 << 20
"""A report has some 100 kB; what is longer is cut."""


def push(program: DevicectlProgram, udid: str, bundle: str, local: Path, remote: str) -> None:
    """Copy a file to a phone. See `PhoneClient.push`. devicectl looks for it there before it reports success."""
    doing = f"{shorten(remote)} was copied to it"
    if not local.is_file():
        raise EnvironmentProblem(f"{local} is no file that can be copied to a phone")
    words = ("--source", str(local.resolve()), "--destination", _word(check_remote(remote)))
    timeout_s = ANSWER_S + local.stat().st_size / _SLOWEST_BYTES_PER_S
    answer = program.call(
        "device", "copy", "to", *_container(bundle), *words, udid=udid, doing=doing, timeout_s=timeout_s
    )
    if answer.failure is not None:
        raise find_cause(program, udid, doing, answer.failure)


def pull(program: DevicectlProgram, udid: str, bundle: str, remote: str, local: Path) -> None:
    """Copy a file from a phone. See `PhoneClient.pull`."""
    doing = f"{shorten(remote)} was copied from it"
    with temporary_folder(local.parent) as folder:
        arrived = folder / "file"
        answer = _copy_from(program, udid, _container(bundle), remote=check_remote(remote), local=arrived, doing=doing)
        if answer.failure is not None and answer.failure.says_missing:
            raise FileNotFoundError(f"{udid} has no file {shorten(remote)} in the container of {bundle}")
        if answer.failure is not None:
            raise find_cause(program, udid, doing, answer.failure)
        if arrived.is_symlink() or not arrived.is_file():
            raise EnvironmentProblem(f"{shorten(remote)} in the container of {bundle} on {udid} is no file")
        arrived.chmod(0o644)
        arrived.replace(local)


def list_files(program: DevicectlProgram, udid: str, bundle: str, folder: str) -> Sequence[str]:
    """List files below a folder. See `PhoneClient.list_files`."""
    doing = f"files of {bundle} were listed"
    folder = check_remote(folder).rstrip("/")
    words = (*_container(bundle), "--subdirectory", _word(folder))
    paths = _paths(_list(program, udid, words, doing))
    prefix = f"{folder}/"
    if paths and all(path.startswith(prefix) for path in paths):  # relative to the container instead
        return tuple(path.removeprefix(prefix) for path in paths)
    return paths


def exists(program: DevicectlProgram, udid: str, bundle: str, remote: str) -> bool:
    """Return whether there is a file or folder of this path in the container of an app."""
    folder, _, name = check_remote(remote).rstrip("/").rpartition("/")
    words = (*_container(bundle), *(("--subdirectory", _word(folder)) if folder else ()))
    records = _list(program, udid, words, f"files of {bundle} were listed")
    paths = [record.relative_path.rstrip("/") for record in records]
    places = (name, f"{folder}/{name}".removeprefix("/"))
    return any(path == place or path.startswith(f"{place}/") for path in paths for place in places)


def list_crash_reports(program: DevicectlProgram, udid: str) -> Sequence[CrashReport]:
    """List crash reports. See `PhoneClient.list_crash_reports`."""
    names = _paths(_list(program, udid, _CRASH_LOGS, "its crash reports were listed"))
    return tuple(CrashReport(name, process_of(name)) for name in names if name.endswith(_SUFFIX))


def read_crash_report(program: DevicectlProgram, udid: str, report: CrashReport) -> str:
    """Return the text of a crash report. See `PhoneClient.read_crash_report`.

    Raises:
        EnvironmentProblem: It is gone.
    """
    doing = f"the crash report {shorten(report.name)} was read"
    with tempfile.TemporaryDirectory(prefix="crash-report-") as folder:
        arrived = Path(folder) / "report"
        answer = _copy_from(program, udid, _CRASH_LOGS, remote=check_remote(report.name), local=arrived, doing=doing)
        if answer.failure is not None and not answer.failure.says_missing:
            raise find_cause(program, udid, doing, answer.failure)
        if answer.failure is not None or arrived.is_symlink() or not arrived.is_file():
            raise EnvironmentProblem(f"{udid} has no crash report {shorten(report.name)} any more")
        with arrived.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")


def _copy_from(
    program: DevicectlProgram, udid: str, domain: tuple[str, ...], *, remote: str, local: Path, doing: str
) -> DevicectlAnswer:
    words = ("device", "copy", "from", *domain, "--source", _word(remote), "--destination", str(local))
    return program.call(*words, udid=udid, doing=doing, timeout_s=_PULL_S)


def _list(program: DevicectlProgram, udid: str, domain: tuple[str, ...], doing: str) -> tuple[FileRecord, ...]:
    answer = program.call("device", "info", "files", *domain, udid=udid, doing=doing)
    if answer.failure is not None and answer.failure.says_missing:
        return ()
    if answer.failure is not None:
        raise find_cause(program, udid, doing, answer.failure)
    return answer.parse(FilesResult, doing).files


def _paths(records: Sequence[FileRecord]) -> tuple[str, ...]:
    return tuple(record.relative_path for record in records if not record.resources.is_directory)


def _container(bundle: str) -> tuple[str, ...]:
    return "--domain-type", "appDataContainer", "--domain-identifier", check_bundle(bundle)


def _word(path: str) -> str:
    """Return a path that devicectl cannot take for an option."""
    return f"./{path}" if path.startswith("-") else path
