"""Options of the platform `ios`. Imports nothing heavy: `harness --help` shows them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from harness.config.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class IosOptions:
    """Options of iPhones and iPads: how to reach them, and which app runs there."""

    heading: ClassVar[str] = "On iPhones and iPads"

    ios_dir: Annotated[
        str,
        Option("Folder in an app's container in which files are kept; nothing beside it is touched.", value="FOLDER"),
    ] = "Documents/edge-harness"
    ios_app: Annotated[
        str | None,
        Option("Runner app that is installed on the phone, where no .ipa is given (`--program`).", value="BUNDLE"),
    ] = None
    ios_client: Annotated[
        Literal["auto", "go-ios", "devicectl"],
        Option(
            "Program that reaches the phones; `auto` takes go-ios where it is installed.",
            inspecting=True,
            in_specifications=False,
            value="CLIENT",
        ),
    ] = "auto"
    go_ios: Annotated[
        str | None,
        Option(
            "Path of go-ios's program (default: `ios` or `go-ios` in PATH).",
            inspecting=True,
            in_specifications=False,
            value="PROGRAM",
        ),
    ] = None
    usbmuxd: Annotated[
        str | None,
        Option(
            "`HOST:PORT` or path of the socket of usbmuxd (default: the system's).",
            inspecting=True,
            in_specifications=False,
            value="ADDRESS",
        ),
    ] = None
    ios_tunnel: Annotated[
        str | None,
        Option(
            "`HOST:PORT` at which `ios tunnel start` tells about its tunnels (default: 127.0.0.1:60105).",
            inspecting=True,
            in_specifications=False,
            value="HOST:PORT",
        ),
    ] = None
    ios_sign: Annotated[
        str | None,
        Option(
            "Command that signs an app again after models were put into it; `{app}` stands for the folder of the app.",
            in_specifications=False,
            value="COMMAND",
        ),
    ] = None
