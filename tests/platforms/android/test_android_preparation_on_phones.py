"""Preparation, state and gates against stand-in phones: Android's own adbd, shell and tools."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Platform
from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.launch.placement import CPUS_SCRIPT, CpuTopology
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from platforms.android.link.reconnect import wait_for_return
from platforms.android.options import AndroidOptions
from platforms.android.settings.preparation import Preparation
from platforms.android.settings.settings_log import LOG_ON_PHONE, SettingsLog
from platforms.android.state.readiness import ReadinessGate, ReadinessLimits
from platforms.android.state.state import STATE_SCRIPT, PhoneState, read_state

pytestmark = pytest.mark.slow

_CLOCKS = "/sys/devices/system/cpu/cpufreq"
_SEEN = f"""
for file in /services/settings/*/*; do echo "$file $(cat "$file")"; done
cat {_CLOCKS}/policy*/scaling_m*_freq {_CLOCKS}/policy*/scaling_governor
dumpsys power | grep mWakefulness=
cat /services/fixed_performance 2>/dev/null || echo false
"""


@pytest.fixture
def rooted(rooted_lab: PhoneLab) -> Phone:
    return Phone(AdbServer(rooted_lab.server), rooted_lab.phones[0].serial)


def preparing(
    phone: Phone, cache: Path, options: AndroidOptions, progress: RecordedProgress | None = None
) -> Preparation:
    return Preparation(phone, options, SettingsLog.of(cache, "one"), progress or RecordedProgress())


def test_a_phone_is_prepared_and_restored(stand_in: StandInPhone, phone: Phone, tmp_path: Path) -> None:
    before = phone.sh(_SEEN).stdout
    progress = RecordedProgress()
    trips = stand_in.round_trips
    with preparing(phone, tmp_path, AndroidOptions(screen="off", airplane=True), progress) as preparation:
        assert stand_in.round_trips - trips == 2
        assert preparation.attributes["fixed_performance"] == "on"
        assert preparation.attributes["animations"] == "off"
        assert preparation.attributes["screen"] == "off"
        assert "over the network" in preparation.attributes["airplane"]
        during = phone.sh(_SEEN).stdout
        assert "mWakefulness=Asleep" in during
        assert "window_animation_scale 0\n" in during
        assert during.endswith("true\n")
        assert stand_in.exists(LOG_ON_PHONE)
    assert phone.sh(_SEEN).stdout == before
    assert not stand_in.exists(LOG_ON_PHONE)
    assert progress.lines == []


@pytest.mark.parametrize(("wish", "khz"), [("max", 2_802_000), ("min", 500_000), ("2200000", 2_252_000)])
def test_clocks_of_a_rooted_phone_are_fixed_and_restored(rooted: Phone, tmp_path: Path, wish: str, khz: int) -> None:
    before = rooted.sh(_SEEN).stdout
    with preparing(rooted, tmp_path, AndroidOptions(set_freq=wish)) as preparation:
        limits = rooted.sh(f"cat {_CLOCKS}/policy6/scaling_m*_freq {_CLOCKS}/policy6/scaling_governor").stdout.split()
        assert limits == [str(khz), str(khz), "performance"]
        assert f"policy6 {khz} kHz" in preparation.attributes["fixed_clocks"]
    assert rooted.sh(_SEEN).stdout == before


def test_clocks_of_a_phone_that_is_not_rooted_are_refused(phone: Phone, tmp_path: Path) -> None:
    before = phone.sh(_SEEN).stdout
    with pytest.raises(EnvironmentProblem, match="not rooted"):
        preparing(phone, tmp_path, AndroidOptions(set_freq="max")).__enter__()
    assert phone.sh(_SEEN).stdout == before


def test_another_machine_restores_settings_of_a_killed_run(phone: Phone, tmp_path: Path) -> None:
    before = phone.sh(_SEEN).stdout
    preparing(phone, tmp_path / "killed", AndroidOptions(screen="off")).__enter__()
    progress = RecordedProgress()
    with preparing(phone, tmp_path / "other", AndroidOptions(), progress):
        assert "mWakefulness=Awake" in phone.sh(_SEEN).stdout
    assert phone.sh(_SEEN).stdout == before
    assert "an earlier run had changed" in progress.lines[0]


def test_a_phone_that_restarts_is_prepared_again_and_restored(tmp_path: Path) -> None:
    with start_phones(1) as lab:
        stand_in, phone = lab.phones[0], Phone(AdbServer(lab.server), lab.phones[0].serial)
        before = phone.sh(_SEEN).stdout
        with preparing(phone, tmp_path, AndroidOptions()) as preparation:
            serialno = phone.sh("getprop ro.serialno").stdout.strip()
            stand_in.reboot(seconds=0.2)
            wait_for_return(phone, serialno, 60.0, RecordedProgress())
            preparation.prepare()
            assert "window_animation_scale 0\n" in phone.sh(_SEEN).stdout
        after = phone.sh(_SEEN).stdout
    assert re.sub("(true|false)\n$", "", after) == re.sub("(true|false)\n$", "", before)
    assert after.endswith("false\n")


def test_an_interruption_restores_everything(
    lab: PhoneLab, phone: Phone, make_platform: Callable[..., Platform], tmp_path: Path
) -> None:
    before = phone.sh(_SEEN).stdout
    platform = make_platform(lab, screen="off")
    seen: list[str] = []

    def be_interrupted() -> None:
        with shell.handle_signals(), platform.open(platform.devices()[0], RecordedProgress()):
            seen.append(phone.sh(_SEEN).stdout)
            os.kill(os.getpid(), signal.SIGINT)
            shell.pause(10.0)

    with pytest.raises(KeyboardInterrupt):
        be_interrupted()
    assert "mWakefulness=Asleep" in seen[0]
    assert phone.sh(_SEEN).stdout == before
    assert not list((tmp_path / "cache").rglob("*.json"))


def read(phone: Phone) -> PhoneState:
    return read_state(phone.sh(STATE_SCRIPT).stdout, time.time())


def test_the_state_of_the_phone_is_read(stand_in: StandInPhone, phone: Phone) -> None:
    try:
        stand_in.set_battery(level=55, temperature_c=27.5, plugged=False, charge_uah=2_000_000, voltage_mv=3900)
        stand_in.set_thermal(status=2, skin_c=43.5)
        reading = read(phone)
    finally:
        stand_in.set_battery(level=85, temperature_c=27.0, plugged=True, charge_uah=3_300_000, voltage_mv=4200)
        stand_in.set_thermal(status=0, skin_c=30.5)
    state = reading.device
    assert (state.battery_percent, state.plugged, state.battery_charge_uah) == (55.0, False, 2_000_000)
    assert (state.battery_voltage_mv, reading.battery_c, state.thermal_status) == (3900, 27.5, 2)
    assert [(skin.celsius, skin.limit_c) for skin in reading.skins] == [(43.5, 39.0)]
    assert len(state.frequency_mhz or ()) == 8
    assert set(state.residency_ms) == {"policy0", "policy4", "policy6"}
    assert state.memory_available_bytes
    assert state.load is not None


def test_the_state_of_a_phone_before_android_10_is_read(tmp_path: Path) -> None:
    with start_phones(1, api=28) as lab:
        phone = Phone(AdbServer(lab.server), lab.phones[0].serial)
        state = read(phone).device
        assert state.thermal_status is None
        assert state.temperature_c is not None
        assert state.battery_percent is not None
        with preparing(phone, tmp_path, AndroidOptions()) as preparation:
            assert preparation.attributes["fixed_performance"] == "not before Android 11"


def test_a_warm_phone_is_waited_for_until_it_is_cool(stand_in: StandInPhone, phone: Phone) -> None:
    stand_in.set_thermal(status=1, skin_c=40.0)
    progress = RecordedProgress()
    gate = ReadinessGate(phone.name, ReadinessLimits(timeout_s=0.4, poll_s=0.1), progress)
    try:
        with pytest.raises(
            EnvironmentProblem, match=r"thermal status 1, must be 0; skin sensor VIRTUAL-SKIN at 40\.0 °C"
        ):
            gate.wait_until_ready(lambda: read(phone))
    finally:
        stand_in.set_thermal(status=0, skin_c=30.5)
    gate.wait_until_ready(lambda: read(phone))
    assert len(progress.tasks) == 1


def test_the_biggest_cores_are_found(phone: Phone) -> None:
    assert CpuTopology.parse(phone.sh(CPUS_SCRIPT).stdout).choose(2) == (6, 7)
