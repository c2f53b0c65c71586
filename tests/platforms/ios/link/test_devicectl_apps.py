"""Files and processes of devicectl. Shapes and their sources: devicectl_recordings.py; none was made here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.errors import BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from platforms.ios.link.client import AppLaunch, CrashReport
from platforms.ios.link.errors import PhoneNotPaired
from tests.platforms.ios.link.devicectl_recordings import (
    APP_URL,
    BUNDLE,
    CORE_DEVICE,
    GONE,
    LOCKED,
    NO_FILE,
    UDID,
    device,
    failed,
    native_error,
    succeeded,
)
from tests.platforms.ios.link.test_devicectl_phones import APPS, DETAILS, LOCK, devicectl

FILES = "device info files"
LAUNCH = "device process launch"
PROCESSES = "device info processes"
TO, FROM = "device copy to", "device copy from"
CONTAINER = ["--domain-type", "appDataContainer", "--domain-identifier", BUNDLE]
DENIED = native_error(CORE_DEVICE, 7000, "permission denied; Failed to retrieve the file node for Documents/a.txt")


def listing(*files: str, folders: tuple[str, ...] = ()) -> object:
    entries = [(name, False) for name in files] + [(name, True) for name in folders]
    return {
        "files": [
            {
                "name": name.rpartition("/")[2],
                "relativePath": name,
                "resources": {"isDirectory": is_folder, "isSymbolicLink": False},
                "metadata": {"size": 3, "lastModDate": "2026-09-10T12:00:00Z"},
            }
            for name, is_folder in entries
        ]
    }


def running(*processes: tuple[int, str]) -> object:
    return {
        "runningProcesses": [
            {"processIdentifier": 1},
            *({"processIdentifier": pid, "executable": url} for pid, url in processes),
        ]
    }


def test_a_file_is_copied_into_the_container(tmp_path: Path) -> None:
    local = tmp_path / "model.pte"
    local.write_bytes(b"x")
    client, written = devicectl(tmp_path / "bin", {TO: succeeded({"files": []})})
    client.push(UDID, BUNDLE, local, "Documents/edge-harness/model.pte")
    words = written.calls[0]
    assert words[:8] == ["devicectl", "device", "copy", "to", *CONTAINER]
    assert words[8:12] == ["--source", str(local), "--destination", "Documents/edge-harness/model.pte"]
    assert "--remove-existing-content" not in words


def test_what_is_no_file_or_no_path_is_not_copied(tmp_path: Path) -> None:
    client, written = devicectl(tmp_path / "bin", {TO: succeeded({})})
    with pytest.raises(EnvironmentProblem, match="is no file"):
        client.push(UDID, BUNDLE, tmp_path, "Documents/folder")
    (tmp_path / "a").touch()
    for remote in ("/etc/a", "Documents/../../a", "", "a\0b"):
        with pytest.raises(EnvironmentProblem, match="is no path"):
            client.push(UDID, BUNDLE, tmp_path / "a", remote)
    with pytest.raises(EnvironmentProblem, match="is no bundle"):
        client.push(UDID, "--device", tmp_path / "a", "Documents/a")
    assert written.calls == []


def test_a_file_is_copied_from_the_container(tmp_path: Path) -> None:
    client, written = devicectl(tmp_path / "bin", {FROM: succeeded({}, arrives="text")})
    client.pull(UDID, BUNDLE, "-a.txt", tmp_path / "new" / "a.txt")
    assert (tmp_path / "new" / "a.txt").read_text() == "text"
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.txt"]
    assert written.calls[0][written.calls[0].index("--source") + 1] == "./-a.txt"


def test_a_missing_file_is_told_from_other_failures(tmp_path: Path) -> None:
    local = tmp_path / "a.txt"
    client, _ = devicectl(tmp_path / "missing", {FROM: failed(NO_FILE)})
    with pytest.raises(FileNotFoundError, match=r"Documents/a\.txt"):
        client.pull(UDID, BUNDLE, "Documents/a.txt", local)
    client, _ = devicectl(tmp_path / "gone", {FROM: failed(GONE)})
    with pytest.raises(DeviceLost):
        client.pull(UDID, BUNDLE, "Documents/a.txt", local)
    answers = {DETAILS: succeeded(device()), LOCK: succeeded({"passcodeRequired": False})}
    client, _ = devicectl(tmp_path / "denied", {FROM: failed(DENIED), **answers})
    with pytest.raises(EnvironmentProblem, match="permission denied"):
        client.pull(UDID, BUNDLE, "Documents/a.txt", local)
    client, _ = devicectl(tmp_path / "nothing", {FROM: succeeded({})})
    with pytest.raises(EnvironmentProblem, match="is no file"):
        client.pull(UDID, BUNDLE, "Documents/a.txt", local)
    assert not local.exists()


def test_files_are_listed_without_folders(tmp_path: Path) -> None:
    answer = succeeded(listing("a", "b/c", folders=("b",)))
    client, written = devicectl(tmp_path / "bin", {FILES: answer})
    assert client.list_files(UDID, BUNDLE, "Documents/x/") == ("a", "b/c")
    assert written.calls[0][4:10] == [*CONTAINER, "--subdirectory", "Documents/x"]
    client, _ = devicectl(tmp_path / "whole", {FILES: succeeded(listing("Documents/x/a", "Documents/x/b/c"))})
    assert client.list_files(UDID, BUNDLE, "Documents/x") == ("a", "b/c")
    client, _ = devicectl(tmp_path / "missing", {FILES: failed(NO_FILE)})
    assert client.list_files(UDID, BUNDLE, "Documents/x") == ()
    client, _ = devicectl(tmp_path / "locked", {FILES: failed(LOCKED)})
    with pytest.raises(PhoneNotPaired):
        client.list_files(UDID, BUNDLE, "Documents/x")


@pytest.mark.parametrize("name", ["x", "Documents/x", "x/deep"])
def test_a_file_is_not_removed_but_its_absence_is_fine(tmp_path: Path, name: str) -> None:
    client, _ = devicectl(tmp_path / "present", {FILES: succeeded(listing("y", name))})
    with pytest.raises(BenchmarkUnsupported, match="cannot remove") as caught:
        client.remove(UDID, BUNDLE, "Documents/x")
    assert "go-ios" in (caught.value.hint or "")
    client, written = devicectl(tmp_path / "absent", {FILES: succeeded(listing("y", "xx"))})
    client.remove(UDID, BUNDLE, "Documents/x")
    assert all(call[1:4] == ["device", "info", "files"] for call in written.calls)


def test_an_app_is_started_with_arguments_and_variables(tmp_path: Path) -> None:
    arguments = ("--timeout", "-h", "a b", "$HOME", "'", "", "ü\n", "--")
    env = {"A": 'x="1"=\\', "B": ""}
    result = {
        "deviceIdentifier": "x",
        "launchOptions": {"arguments": list(arguments), "environmentVariables": env},
        "process": {"auditToken": [1], "executable": f"{APP_URL}My%20Runner", "processIdentifier": 1234},
    }
    client, written = devicectl(tmp_path, {LAUNCH: succeeded(result)})
    assert client.launch(UDID, AppLaunch(BUNDLE, arguments, env)) == 1234
    words = written.calls[0]
    assert words[1:5] == ["device", "process", "launch", "--terminate-existing"]
    assert json.loads(words[words.index("--environment-variables") + 1]) == env
    assert words[words.index(BUNDLE) :] == [BUNDLE, "--", *arguments]


def test_an_app_without_arguments_is_started_without_a_separator(tmp_path: Path) -> None:
    client, written = devicectl(tmp_path, {LAUNCH: succeeded({"process": {"processIdentifier": 7}})})
    assert client.launch(UDID, AppLaunch(BUNDLE)) == 7
    assert written.calls[0][-1] == BUNDLE
    assert "--environment-variables" not in written.calls[0]


def test_other_arguments_than_those_that_were_given_are_refused(tmp_path: Path) -> None:
    result = {"launchOptions": {"arguments": ["--", "-x"]}, "process": {"processIdentifier": 7}}
    client, _ = devicectl(tmp_path, {LAUNCH: succeeded(result)})
    with pytest.raises(EnvironmentProblem, match="other arguments"):
        client.launch(UDID, AppLaunch(BUNDLE, ("-x",)))


def test_a_process_whose_identifier_stays_unknown_was_started(tmp_path: Path) -> None:
    error = native_error(
        CORE_DEVICE, 10004, "The process identifier of the launched application could not be determined"
    )
    client, _ = devicectl(tmp_path, {LAUNCH: failed(error)})
    assert client.launch(UDID, AppLaunch(BUNDLE)) is None


@pytest.mark.parametrize(
    "start",
    [
        AppLaunch(BUNDLE, ("a\0b",)),
        AppLaunch(BUNDLE, ("\udcff",)),
        AppLaunch(BUNDLE, (), {"": "x"}),
        AppLaunch(BUNDLE, (), {"A=B": "x"}),
        AppLaunch(BUNDLE, (), {"A": "\0"}),
        AppLaunch(BUNDLE, ("x" * 300_000,)),
    ],
)
def test_what_no_process_can_be_given_is_refused(tmp_path: Path, start: AppLaunch) -> None:
    client, written = devicectl(tmp_path, {LAUNCH: succeeded({})})
    with pytest.raises(BenchmarkUnsupported):
        client.launch(UDID, start)
    assert written.calls == []


def test_the_processes_of_an_app_are_ended_and_no_others(tmp_path: Path) -> None:
    inside = APP_URL.removeprefix("file:///private")
    processes = running(
        (11, f"{APP_URL}My%20Runner"),
        (12, f"file://{'/' + inside}PlugIns/W.appex/W".replace("file:////", "file:///")),
        (13, "file:///private/var/containers/Bundle/Application/X/My%20Runner.app/My%20Runner"),
        (14, "file:///usr/libexec/backboardd"),
    )
    app = succeeded({"apps": [{"bundleIdentifier": BUNDLE, "url": APP_URL}]})
    answers = {APPS: app, PROCESSES: succeeded(processes), "device process terminate": succeeded({})}
    client, written = devicectl(tmp_path / "bin", answers)
    client.kill(UDID, BUNDLE)
    ended = [call for call in written.calls if "terminate" in call]
    assert [call[call.index("--pid") + 1] for call in ended] == ["11", "12"]
    assert all("--kill" in call for call in ended)
    client, _ = devicectl(tmp_path / "absent", {APPS: succeeded({"apps": []})})
    client.kill(UDID, BUNDLE)


def test_a_process_that_ended_by_itself_meanwhile_is_no_error(tmp_path: Path) -> None:
    error = failed(native_error(CORE_DEVICE, 10003, "No such process"))
    here, gone = succeeded(running((11, f"{APP_URL}R"))), succeeded(running())
    answers = {APPS: succeeded({"apps": [{"bundleIdentifier": BUNDLE, "url": APP_URL}]}), DETAILS: succeeded(device())}
    client, _ = devicectl(tmp_path / "gone", {**answers, PROCESSES: [here, gone], "device process terminate": error})
    client.kill(UDID, BUNDLE)
    answers[LOCK] = succeeded({"passcodeRequired": False})
    client, _ = devicectl(tmp_path / "stays", {**answers, PROCESSES: here, "device process terminate": error})
    with pytest.raises(EnvironmentProblem, match="No such process"):
        client.kill(UDID, BUNDLE)


def test_a_process_is_known_by_the_name_of_its_program(tmp_path: Path) -> None:
    client, _ = devicectl(tmp_path, {PROCESSES: succeeded(running((11, f"{APP_URL}My%20Runner")))})
    assert client.is_running(UDID, "My Runner") is True
    assert client.is_running(UDID, "Runner") is False
    assert client.is_running(UDID, "") is None


def test_crash_reports_are_those_of_the_domain_of_the_system(tmp_path: Path) -> None:
    name = "Runner-2026-11-23-101500.ips"
    answers = {FILES: succeeded(listing(name, "Retired/x.txt")), FROM: succeeded({}, arrives="{}\n{}")}
    client, written = devicectl(tmp_path / "bin", answers)
    (report,) = client.list_crash_reports(UDID)
    assert report == CrashReport(name, "Runner")
    assert client.read_crash_report(UDID, report) == "{}\n{}"
    assert all(call[4:6] == ["--domain-type", "systemCrashLogs"] for call in written.calls)
    assert all("--domain-identifier" not in call for call in written.calls)
    client, _ = devicectl(tmp_path / "gone", {FROM: failed(NO_FILE)})
    with pytest.raises(EnvironmentProblem, match="any more"):
        client.read_crash_report(UDID, report)
