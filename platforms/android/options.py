"""Options of the platform `android`. Imports nothing heavy: `harness --help` shows them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from harness.config.options import Option
from platforms.phone_options import Celsius


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
    max_skin: Annotated[
        Celsius | None,
        Option(
            "Degrees Celsius below which its skin must be (default: its own limit, else 38).",
            of_device=True,
            value="CELSIUS",
        ),
    ] = None
