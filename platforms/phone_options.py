"""Options of every platform of phones. Imports nothing heavy: `harness --help` shows them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Interval

from harness.config import parsing
from harness.config.options import Option

Percent = Annotated[float, Interval(ge=0, le=100)]
Celsius = Annotated[float, Interval(ge=0, le=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneOptions:
    """Options of phones: what must hold before they are measured on."""

    heading: ClassVar[str] = "On phones"

    reboot: Annotated[bool, Option("Restart each phone before it is measured on.", of_device=True)] = False
    override: Annotated[
        tuple[str, ...],
        Option(
            "Measure in spite of these, and mark the results as not trusted: `battery`, `temperature`, "
            "`thermal-status`; on iPhones `low-power`; on Android `fixed-performance` to leave that mode alone.",
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
    max_battery_temperature: Annotated[
        Celsius,
        Option(
            "Degrees Celsius below which its battery must be, where no skin sensor can be read.",
            of_device=True,
            value="CELSIUS",
        ),
    ] = 40.0
