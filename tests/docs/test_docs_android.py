"""The page about phones names every flag that is about them, with its default, and the limits that are in force."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from harness.cli import app
from harness.config.arguments import installed_options, normalise_flags
from harness.config.settings import WHERE, Settings
from platforms.android.files.eviction import MOST_BYTES, SHARE, SPARE_BYTES
from platforms.android.link.device_lock import LOCK
from platforms.android.options import AndroidOptions
from platforms.android.settings.settings_log import LOG_ON_PHONE
from platforms.android.state.readiness import ReadinessLimits
from platforms.phone_options import PhoneOptions
from tests.docs.pages import DOCS, codes, tables

PAGE = "android.md"
ROWS = tables(PAGE, "flags")["android"]
NAMED = {flag: row for row in ROWS for flag in codes(row[0])}
ELSEWHERE = {"--platform", "-p", "--platform-sig", "--cpus"}
"""Flags of the same groups that are not about phones."""


def of_groups() -> set[str]:
    """The long names of flags in the two groups, as a person types them."""
    options = installed_options().options
    names = {
        name
        for option in options
        if option.heading in {AndroidOptions.heading, PhoneOptions.heading, WHERE}
        for name in option.flags
    }
    return {name for name in names if name.startswith("--")}


def test_every_flag_about_phones_is_on_the_page() -> None:
    assert of_groups() - ELSEWHERE == {flag for flag in NAMED if flag.startswith("--")}


@pytest.mark.parametrize("flag", NAMED)
def test_a_flag_on_the_page_is_accepted(flag: str) -> None:
    (here,) = normalise_flags([flag])
    assert here in {name for argument in app["run"].assemble_argument_collection() for name in argument.names}


def test_defaults_on_the_page_match_the_code() -> None:
    settings, options, of_phones = Settings(), AndroidOptions(), PhoneOptions()
    known = {
        field.name: getattr(owner, field.name) for owner in (settings, options, of_phones) for field in fields(owner)
    }
    for flag, row in NAMED.items():
        name = flag.removeprefix("--").replace("-", "_")
        if name not in known:
            continue
        default = known[name]
        if not default:
            assert not codes(row[2]), f"{flag} is off unless given"
        else:
            assert codes(row[2]) == [f"{default:g}" if isinstance(default, float) else str(default)]


def test_limits_on_the_page_match_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    limits = ReadinessLimits()
    assert SHARE == 2
    for sentence in (
        f"below {limits.skin_c:g} °C",
        f"{limits.battery_c:g} °C where there is no such sensor",
        f"cool {limits.hysteresis_c:g} °C below",
        f"at least {limits.battery_percent:g} % of charge on battery, {limits.plugged_percent:g} % while it charges",
        f"up to {MOST_BYTES >> 30} GiB, or half of",
        f"{SPARE_BYTES >> 30} GiB stays free",
        f"`{LOCK}`",
        f"`{LOG_ON_PHONE}`",
    ):
        assert sentence in re.sub(r"\s+", " ", text)


def test_links_on_the_page_resolve() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text)
    assert links
    for page, anchor in links:
        headings = re.findall(r"^#+ (.*)$", (DOCS / (page or PAGE)).read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, f"{page}#{anchor}"
