"""Options of the platform `android`. Imports nothing heavy: `harness --help` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Interval

from harness.config import parsing
from harness.config.options import Option

Percent = Annotated[float, Interval(ge=0, le=100)]
Celsius = Annotated[float, Interval(ge=0, le=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AndroidOptions:
    """Options of phones: where to reach them, and what to change on them while they are measured."""

    heading: ClassVar[str] = "On Android phones"

    android_dir: Annotated[
        str, Option("Folder on the phone under which ours is made; nothing beside it is touched.", value="FOLDER")
    ] = "/data/local/tmp"
    adb_server: Annotated[
        str | None,
        Option(
            "`HOST:PORT` of the adb server (default: that of adb itself).",
            inspecting=True,
            in_specifications=False,
            value="HOST:PORT",
        ),
    ] = None
    reboot: Annotated[bool, Option("Restart each phone before it is measured on.", of_device=True)] = False
    set_freq: Annotated[
        str | None,
        Option(
            "Fix the clocks of a rooted phone: `max`, `mid`, `min`, or a frequency in kHz; restored afterwards.",
            of_device=True,
            value="FREQUENCY",
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
            value="STATE",
        ),
    ] = "keep"
    override: Annotated[
        tuple[str, ...],
        Option(
            "Measure in spite of these, and mark the results as not trusted: `battery`, `temperature`, "
            "`thermal-status`, or `fixed-performance` to leave that mode alone.",
            parse=parsing.split_words,
            of_device=True,
            value="CONDITION",
        ),
    ] = ()
    min_battery: Annotated[
        Percent, Option("Least charge in percent of a phone that runs on its battery.", of_device=True, value="PERCENT")
    ] = 30.0
    min_battery_charging: Annotated[
        Percent, Option("Least charge in percent of a phone that is plugged in.", of_device=True, value="PERCENT")
    ] = 10.0
    max_skin: Annotated[
        Celsius | None,
        Option(
            "Degrees Celsius below which its skin must be (default: its own limit, else 38).",
            of_device=True,
            value="CELSIUS",
        ),
    ] = None
    max_battery_temperature: Annotated[
        Celsius,
        Option(
            "Degrees Celsius below which its battery must be, where no skin sensor can be read.",
            of_device=True,
            value="CELSIUS",
        ),
    ] = 40.0
