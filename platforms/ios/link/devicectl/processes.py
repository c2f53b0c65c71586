"""Apps and processes of an iPhone, through devicectl."""

from __future__ import annotations

import json
from typing import Final

from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from platforms.ios.link.client import AppLaunch
from platforms.ios.link.devicectl.causes import ask, find_cause
from platforms.ios.link.devicectl.documents import (
    AppRecord,
    AppsResult,
    LaunchResult,
    ProcessesResult,
    ProcessRecord,
    path_of,
)
from platforms.ios.link.devicectl.program import DevicectlProgram
from platforms.ios.link.words import check_bundle, shorten

_MOST_BYTES: Final = 200_000
"""Length of all arguments and variables; macOS passes a quarter more than a million bytes in all."""


def launch(program: DevicectlProgram, udid: str, start: AppLaunch) -> int | None:
    """Start an app. See `PhoneClient.launch`.

    Raises:
        BenchmarkUnsupported: An argument or variable that no process can be given.
        EnvironmentProblem: devicectl passed other arguments than these.
    """
    doing = f"{check_bundle(start.bundle)} was started"
    options = ("--terminate-existing", *_variables(start))
    answer = program.call("device", "process", "launch", *options, udid=udid, last=_last_words(start), doing=doing)
    if answer.failure is not None and answer.failure.says_unknown_process:
        return None
    if answer.failure is not None:
        raise find_cause(program, udid, doing, answer.failure)
    result = answer.parse(LaunchResult, doing)
    passed = result.launch_options.arguments
    if passed is not None and passed != start.arguments:
        raise EnvironmentProblem(
            f"devicectl passed other arguments to {start.bundle} than it was given: {shorten(repr(passed))}",
            hint="use go-ios (--ios-client go-ios), and report it with the version of Xcode",
        )
    return result.process.process_identifier


def kill(program: DevicectlProgram, udid: str, bundle: str) -> None:
    """End an app with a signal that it cannot catch. See `PhoneClient.kill`."""
    doing = f"{check_bundle(bundle)} was ended"
    for process in _processes_of(program, udid, bundle, doing):
        pid = process.process_identifier
        words = ("device", "process", "terminate", "--pid", str(pid), "--kill")
        answer = program.call(*words, udid=udid, doing=doing)
        if answer.failure is not None and pid in (
            still.process_identifier for still in _processes_of(program, udid, bundle, doing)
        ):
            raise find_cause(program, udid, doing, answer.failure)


def is_running(program: DevicectlProgram, udid: str, name: str) -> bool | None:
    """Return whether a process of this name runs; None where the name is unknown. See `PhoneClient.is_running`."""
    if not name:
        return None
    return any(process.path.rpartition("/")[2] == name for process in _list_processes(program, udid))


def list_apps(program: DevicectlProgram, udid: str) -> tuple[AppRecord, ...]:
    """List the apps that users installed, without those of the system."""
    doing = "its apps were listed"
    apps = ask(program, AppsResult, udid, "device", "info", "apps", "--include-all-apps", doing=doing).apps
    return tuple(app for app in apps if not (app.default_app or app.hidden or app.internal_app))


def find_app(program: DevicectlProgram, udid: str, bundle: str, doing: str) -> AppRecord | None:
    """Return an app; None if it is not installed."""
    words = ("device", "info", "apps", "--include-all-apps", "--bundle-id", check_bundle(bundle))
    apps = ask(program, AppsResult, udid, *words, doing=doing).apps
    return next((app for app in apps if app.bundle_identifier == bundle), None)


def _list_processes(program: DevicectlProgram, udid: str) -> tuple[ProcessRecord, ...]:
    words = ("device", "info", "processes")
    return ask(program, ProcessesResult, udid, *words, doing="its processes were listed").running_processes


def _processes_of(program: DevicectlProgram, udid: str, bundle: str, doing: str) -> tuple[ProcessRecord, ...]:
    """Return the processes of an app, those of its extensions included."""
    app = find_app(program, udid, bundle, doing)
    if app is None or not app.url:
        return ()
    folder = f"{_canonical(path_of(app.url))}/"
    return tuple(
        process
        for process in _list_processes(program, udid)
        if process.process_identifier > 1 and _canonical(process.path).startswith(folder)
    )


def _canonical(path: str) -> str:
    """Return a path without the symbolic link that iOS has for `/private/var`."""
    return path.removeprefix("/private") if path.startswith("/private/var/") else path


def _variables(start: AppLaunch) -> tuple[str, ...]:
    _check_passable(start)
    return ("--environment-variables", json.dumps(dict(start.env))) if start.env else ()


def _last_words(start: AppLaunch) -> tuple[str, ...]:
    """Return the bundle and the arguments, behind `--`: devicectl takes those that it knows for its own otherwise."""
    return (start.bundle, *(("--", *start.arguments) if start.arguments else ()))


def _check_passable(start: AppLaunch) -> None:
    for name in start.env:
        if not name or "=" in name:
            raise BenchmarkUnsupported(f"{shorten(repr(name))} is no name of a variable")
    texts = (*start.arguments, *start.env, *start.env.values())
    for text in texts:
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            raise BenchmarkUnsupported(f"{shorten(repr(text))} cannot be passed to an app")
    if sum(len(text.encode()) for text in texts) > _MOST_BYTES:
        raise BenchmarkUnsupported("the arguments and variables are too long to be passed to an app")
