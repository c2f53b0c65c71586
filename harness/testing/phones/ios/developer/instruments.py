"""DVT, the service behind Instruments: start and end of apps, and the list of processes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.developer.archives import ArchivedObject, ArchiveValue
from harness.testing.phones.ios.developer.channels import DtxConnection, MethodCall, RefusedCall, refuse_selector
from harness.testing.phones.ios.developer.processes import LaunchRefused
from harness.testing.phones.ios.usbmux.connection import ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

PROCESS_CONTROL: Final = "com.apple.instruments.server.services.processcontrol"
DEVICE_INFO: Final = "com.apple.instruments.server.services.deviceinfo"
_LAUNCH: Final = "launchSuspendedProcessWithDevicePath:bundleIdentifier:environment:arguments:options:"
_LAUNCH_DOMAIN: Final = "com.apple.dt.deviceprocesscontrolservice"
_NOT_NOW, _NEVER = 2, 1
"""Errors of a launch: go-ios tries again after the former."""
_KILL_S: Final = 3.0
"""Time for which the end of a process is waited for: go-ios waits for an answer for 5 s."""
_SYSTEM_PROCESSES: Final = ((1, "launchd"), (41, "installd"), (57, "SpringBoard"), (61, "ReportCrash"))


def serve_instruments(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Answer calls of a client until it hangs up.

    Raises:
        ConnectionEnded: It did.
    """
    control, describe = partial(_control_processes, phone), partial(_describe_device, phone)
    DtxConnection(connection, {PROCESS_CONTROL: lambda: control, DEVICE_INFO: lambda: describe}).serve()


def _control_processes(phone: StandInIPhone, call: MethodCall) -> ArchiveValue:
    match call.selector:
        case selector if selector == _LAUNCH:
            return _launch(phone, call)
        case "killPid:":
            phone.process_table.kill_process(call.number(0), _KILL_S)
            return None
        case "requestDisableMemoryLimitsForPid:":
            return True
        case _:
            raise refuse_selector(call)


def _launch(phone: StandInIPhone, call: MethodCall) -> int:
    """Start an app, or return the process of one that runs and is not to be started again."""
    bundle, arguments, options = call.text(1), call.texts(3), call.mapping(4)
    env = {name: str(value) for name, value in call.mapping(2).items()}
    app = phone.apps.get(bundle)
    if app is None:
        reason = f"Unable to launch {bundle} because it is unknown to FrontBoard"
        raise _refuse_launch(bundle, _NEVER, f"{reason} (FBSOpenApplicationErrorDomain error 4.)")
    if phone.conditions.locked:
        reason = f"Unable to launch {bundle} because the device was not, or could not be, unlocked"
        raise _refuse_launch(bundle, _NOT_NOW, f"{reason} (FBSOpenApplicationErrorDomain error 7.)")
    running = phone.process_table.find(bundle)
    if running is not None and not options.get("KillExisting"):
        return running.pid
    try:
        return phone.process_table.start(app, arguments, env).pid
    except LaunchRefused as error:
        raise _refuse_launch(bundle, _NEVER, str(error)) from error


def _refuse_launch(bundle: str, code: int, reason: str) -> RefusedCall:
    return RefusedCall(_LAUNCH_DOMAIN, code, f"Failed to launch process with bundle identifier '{bundle}'. {reason}")


def _describe_device(phone: StandInIPhone, call: MethodCall) -> ArchiveValue:
    match call.selector:
        case "runningProcesses":
            apps = [_describe_process(process.pid, process.name, is_app=True) for process in phone.processes()]
            return [*(_describe_process(pid, name, is_app=False) for pid, name in _SYSTEM_PROCESSES), *apps]
        case "execnameForPid:":
            pid = call.number(0)
            names = dict(_SYSTEM_PROCESSES) | {process.pid: process.name for process in phone.processes()}
            return names.get(pid, "")
        case _:
            raise refuse_selector(call)


def _describe_process(pid: int, name: str, *, is_app: bool) -> dict[str, ArchiveValue]:
    return {
        "isApplication": is_app,
        "name": name,
        "pid": pid,
        "realAppName": name,
        "startDate": ArchivedObject("NSDate", {"NS.time": 0.0}),
    }
