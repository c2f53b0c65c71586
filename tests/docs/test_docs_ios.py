"""The page about iPhones: its flags are those of the platform, with their defaults, and its links resolve."""

from __future__ import annotations

from dataclasses import fields

from harness.config.arguments import installed_options
from platforms.ios.options import IosOptions
from tests.docs.pages import codes, tables

PAGE = "ios.md"
ROWS = tables(PAGE, "flags")["ios"]


def test_every_flag_about_iphones_is_on_the_page() -> None:
    options = installed_options().options
    flags = {name for option in options if option.heading == IosOptions.heading for name in option.flags}
    named = {flag.replace("_", "-") for row in ROWS for flag in codes(row[0])}
    assert named == {flag.replace("_", "-") for flag in flags if flag.startswith("--")}


def test_defaults_on_the_page_match_the_code() -> None:
    defaults = {field.name: getattr(IosOptions(), field.name) for field in fields(IosOptions)}
    for row in ROWS:
        (flag,) = codes(row[0])
        default = defaults[flag.removeprefix("--").replace("-", "_")]
        assert codes(row[2]) == ([str(default)] if default else [])
