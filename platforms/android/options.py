"""Options of the platform `android`. Imports nothing heavy: `harness --help` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from harness.config.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class AndroidOptions:
    """Options of phones: where to reach them, and what to change on them while they are measured."""

    heading: ClassVar[str] = "On Android phones"

    android_dir: Annotated[
        str, Option("Folder on the phone under which ours is made; nothing beside it is touched.")
    ] = "/data/local/tmp"
    adb_server: Annotated[
        str | None,
        Option(
            "`HOST:PORT` of the adb server (default: that of adb itself).", inspecting=True, in_specifications=False
        ),
    ] = None
    reboot: Annotated[bool, Option("Restart each phone before it is measured on.", of_device=True)] = False
    set_freq: Annotated[
        str | None,
        Option(
            "Fix the clocks of a rooted phone: `max`, `mid`, `min`, or a frequency in kHz; restored afterwards.",
            of_device=True,
        ),
    ] = None
    wipe_cache: Annotated[
        bool,
        Option(
            "Drop the page cache of a rooted phone before each launch; not the program's own flag of this name.",
            of_device=True,
        ),
    ] = False
    airplane: Annotated[
        bool,
        Option("Turn radios off while measuring; never on a phone that is reached through them.", of_device=True),
    ] = False
    screen: Annotated[
        Literal["keep", "on", "off"],
        Option(
            "State of the screen while measuring; `keep` switches it on where the phone is reached over the network, "
            "and would sleep.",
            of_device=True,
        ),
    ] = "keep"
