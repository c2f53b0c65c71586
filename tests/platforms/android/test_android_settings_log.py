from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from platforms.android.settings.changes import SettingChange, SettingKind
from platforms.android.settings.settings_log import (
    InvalidSettingsLog,
    LoggedChanges,
    SettingsLog,
    format_log,
    parse_log,
    parse_run,
)

ANIMATION = SettingChange(kind=SettingKind.GLOBAL, name="window_animation_scale", before="1.0", ours="0")
CLOCK = SettingChange(kind=SettingKind.CPUFREQ, name="policy0/scaling_max_freq", before="1800000", ours="900000")
RUN = "0123456789abcdef"
HEADER = f"edge-harness changes 2 {RUN}"

CHANGES = st.one_of(
    st.builds(
        SettingChange,
        kind=st.just(SettingKind.GLOBAL),
        name=st.sampled_from(["window_animation_scale", "stay_on_while_plugged_in"]),
        before=st.one_of(st.just("null"), st.integers(0, 10**9).map(str)),
        ours=st.sampled_from(["0", "7", "0.5"]),
    ),
    st.builds(
        SettingChange,
        kind=st.just(SettingKind.CPUFREQ),
        name=st.integers(0, 999).map(lambda number: f"policy{number}/scaling_governor"),
        before=st.sampled_from(["schedutil", "sched_pixel", "walt"]),
        ours=st.just("performance"),
    ),
)


@pytest.mark.parametrize(
    ("kind", "name", "before", "ours"),
    [
        (SettingKind.GLOBAL, "adb_enabled", "1", "0"),
        (SettingKind.GLOBAL, "window_animation_scale", "1; reboot", "0"),
        (SettingKind.GLOBAL, "window_animation_scale", "$(reboot)", "0"),
        (SettingKind.GLOBAL, "window_animation_scale", "1\n", "0"),
        (SettingKind.GLOBAL, "window_animation_scale", "", "0"),
        (SettingKind.CPUFREQ, "policy0/../../../../etc/passwd", "1", "2"),
        (SettingKind.CPUFREQ, "policy0/scaling_max_freq", "1800000", "*"),
        (SettingKind.SCREEN, "power", "on", "0"),
        (SettingKind.AIRPLANE, "mode", "1", "enabled"),
    ],
)
def test_only_settings_that_the_harness_changes_can_be_logged(
    kind: SettingKind, name: str, before: str, ours: str
) -> None:
    with pytest.raises(ValidationError):
        SettingChange(kind=kind, name=name, before=before, ours=ours)


@given(st.lists(CHANGES))
def test_the_log_on_the_phone_is_parsed_back(changes: list[SettingChange]) -> None:
    written = LoggedChanges(run=RUN, changes=tuple(changes))
    assert parse_log(format_log(written)) == written
    assert parse_run(format_log(written)[:1]) == RUN


@given(st.lists(st.one_of(st.text(), st.sampled_from([HEADER, "end", ANIMATION.line]))))
def test_any_lines_are_a_log_or_invalid(lines: list[str]) -> None:
    try:
        written = parse_log(lines)
    except InvalidSettingsLog:
        return
    assert (format_log(written) if written else ()) == tuple(lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["end"],
        [HEADER, ANIMATION.line],
        [HEADER.replace("2", "3", 1), ANIMATION.line, "end"],
        [HEADER.rpartition(" ")[0], ANIMATION.line, "end"],
        [f"{HEADER}0", ANIMATION.line, "end"],
        [HEADER, f"{ANIMATION.line} more", "end"],
        [HEADER, "secure adb_keys 1 0", "end"],
        ["#!/system/bin/sh", "reboot", "end"],
    ],
)
def test_a_damaged_or_foreign_log_is_invalid(lines: list[str]) -> None:
    with pytest.raises(InvalidSettingsLog):
        parse_log(lines)


def settings_log(folder: Path, identity: str = "ABC/1:5555") -> SettingsLog:
    return SettingsLog.of(folder, identity)


def test_the_log_on_the_host_is_read_back(tmp_path: Path) -> None:
    settings_log(tmp_path).write_host(RUN, (ANIMATION, CLOCK))
    assert settings_log(tmp_path).read_host() == LoggedChanges(run=RUN, changes=(ANIMATION, CLOCK))
    assert settings_log(tmp_path, "another").read_host() is None
    settings_log(tmp_path).write_host(RUN, ())
    assert settings_log(tmp_path).read_host() is None
    assert list((tmp_path / "android").iterdir()) == []


def test_an_invalid_log_on_the_host_is_reported_with_its_path(tmp_path: Path) -> None:
    log = settings_log(tmp_path)
    log.write_host(RUN, (ANIMATION,))
    log.host.write_text(log.host.read_text()[:-20])
    with pytest.raises(InvalidSettingsLog, match=r"ABC%2F1%3A5555\.json"):
        log.read_host()


def test_the_log_of_another_phone_is_refused(tmp_path: Path) -> None:
    settings_log(tmp_path, "one").write_host(RUN, (ANIMATION,))
    (tmp_path / "android" / "one.json").rename(tmp_path / "android" / "two.json")
    with pytest.raises(InvalidSettingsLog, match="that of one"):
        settings_log(tmp_path, "two").read_host()


def test_a_log_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "android").write_text("in the way")
    with pytest.raises(EnvironmentProblem, match="cannot log the changes"):
        settings_log(tmp_path).write_host(RUN, (ANIMATION,))
