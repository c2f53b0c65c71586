"""installation_proxy of a stand-in iPhone: which apps are installed, and their removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.usbmux.connection import ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.model import StandInApp
    from harness.testing.phones.ios.phone import StandInIPhone

_MEMBERS: Final = (
    "CFBundleDisplayName",
    "CFBundleExecutable",
    "CFBundleIdentifier",
    "CFBundleName",
    "CFBundleShortVersionString",
    "CFBundleVersion",
    "MinimumOSVersion",
    "UIDeviceFamily",
    "UIFileSharingEnabled",
)


def serve_proxy(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Answer requests of a client until it hangs up."""
    while True:
        request = connection.read_plist()
        match request.get("Command"):
            case "Browse":
                _browse(connection, phone, request)
            case "Lookup":
                apps = {app.bundle: describe_app(app) for app in phone.installed_apps()}
                connection.send_plist({"Status": "Complete", "LookupResult": apps})
            case "Uninstall":
                phone.uninstall(str(request.get("ApplicationIdentifier", "")))
                connection.send_plist({"Status": "RemovingApplication", "PercentComplete": 50})
                connection.send_plist({"Status": "Complete"})
            case command:
                connection.send_plist({"Error": "APIInternalError", "ErrorDescription": f"no command {command}"})


def describe_app(app: StandInApp) -> dict[str, object]:
    """Return what the phone says of an app."""
    return {
        **{member: app.info[member] for member in _MEMBERS if member in app.info},
        "ApplicationType": "User",
        "CFBundleIdentifier": app.bundle,
        "Container": str(app.container),
        "EnvironmentVariables": {"CFFIXED_USER_HOME": str(app.container), "HOME": str(app.container)},
        "Path": str(app.folder),
    }


def _browse(connection: ServiceConnection, phone: StandInIPhone, request: dict[str, object]) -> None:
    options = request.get("ClientOptions")
    kind = options.get("ApplicationType", "Any") if isinstance(options, dict) else "Any"
    apps: list[object] = [] if kind == "System" else [describe_app(app) for app in phone.installed_apps()]
    if apps:
        connection.send_plist(
            {"Status": "BrowsingApplications", "CurrentIndex": 0, "CurrentAmount": len(apps), "CurrentList": apps}
        )
    connection.send_plist({"Status": "Complete"})
