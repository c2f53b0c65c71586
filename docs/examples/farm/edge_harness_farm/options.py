"""Options of the farm. The key is no option: options are shown and stored, `FARM_ACCESS_KEY` is not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from harness.config.options import Option


@dataclass(frozen=True, kw_only=True)
class FarmOptions:
    """Options of the platform `farm`."""

    heading: ClassVar[str] = "On a device farm"

    farm_url: Annotated[str, Option("Address of the farm.", inspecting=True, in_specifications=False)] = (
        "https://api-cloud.browserstack.com"
    )
    farm_log_host: Annotated[
        str, Option("Other host that keeps logs and may get the key.", in_specifications=False)
    ] = "api.browserstack.com"
    farm_user: Annotated[str, Option("Name of the account.", inspecting=True, in_specifications=False)] = ""
    farm_models: Annotated[
        tuple[str, ...], Option("Device models, such as 'Google Pixel 7-13.0'.", inspecting=True)
    ] = ()
    farm_test_suite: Annotated[Path | None, Option("Package of the tests (.apk).", in_specifications=False)] = None
    farm_poll_s: Annotated[float, Option("First pause between polls, seconds; doubled up to eightfold.")] = 5.0
