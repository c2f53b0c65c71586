"""Preparation against this machine's shell, with Android's commands as scripts over files (see `_SERVICES`)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from harness.config.layers import resolve
from harness.config.options import OptionTable, declared_options
from harness.config.settings import Settings
from harness.core.errors import DeviceLost, EnvironmentProblem, HarnessError, UsageError
from harness.shell import Interrupted
from harness.testing.progress import RecordedProgress
from platforms.android.link.phone import ScriptResult
from platforms.android.options import AndroidOptions
from platforms.android.platform import Android
from platforms.android.settings.preparation import Preparation
from platforms.android.settings.settings_log import SettingsLog
from platforms.phone_options import PhoneOptions

pytestmark = pytest.mark.slow

_SERVICES = """#!/bin/sh
cd "$HERE" || exit 1
name=${0##*/}
[ -e "broken/$name" ] && { cat "broken/$name"; exit 255; }
case "$name $*" in
"getprop ro.build.version.sdk") cat api ;;
"id -u") cat uid ;;
"su 0 id -u") [ -e su_android ] && echo 0 ;;
"su 0 sh -c "*) shift 3; echo 0 >uid; eval "$1" ;;
"su -c id -u") [ -e su_magisk ] && echo 0 ;;
"su -c "*) shift; echo 0 >uid; eval "$1" ;;
"settings get "*) cat "settings/$2.$3" 2>/dev/null || echo null ;;
"settings put "*) echo "$4" >"settings/$2.$3" ;;
"settings delete "*) rm "settings/$2.$3" ;;
"dumpsys power") cat power ;;
"input keyevent KEYCODE_WAKEUP") echo '  mWakefulness=Awake' >power ;;
"input keyevent KEYCODE_SLEEP") echo '  mWakefulness=Dozing' >power ;;
"cmd power set-fixed-performance-mode-enabled "*) echo "$3" >fixed ;;
"cmd connectivity airplane-mode enable") echo 1 >settings/global.airplane_mode_on ;;
"cmd connectivity airplane-mode disable") echo 0 >settings/global.airplane_mode_on ;;
*) echo "$name: inaccessible or not found" >&2; exit 127 ;;
esac
"""
_COMMANDS = ("getprop", "id", "su", "settings", "dumpsys", "input", "cmd")


@dataclass
class PhoneHere:
    """Scripts run in this machine's shell, with a folder for the phone's state."""

    here: Path
    name: str = "Pixel"
    over_network: bool = False
    round_trips: int = 0
    fails: list[HarnessError] = field(default_factory=list)

    def sh(self, script: str, *arguments: str, timeout_s: float = 20.0, stdin: bytes = b"") -> ScriptResult:
        self.round_trips += 1
        if self.fails:
            raise self.fails.pop(0)
        moved = [text.replace("/sys/devices/system/cpu/cpufreq", str(self.here / "cpufreq")) for text in arguments]
        environment = {"PATH": f"{self.here / 'bin'}:{os.environ['PATH']}", "HERE": str(self.here)}
        argv = ["sh", "-c", script, "sh", *moved]
        completed = subprocess.run(
            argv, check=False, input=stdin, capture_output=True, env=environment, timeout=timeout_s
        )
        return ScriptResult(completed.returncode, completed.stdout.decode(), completed.stderr.decode(), wall_s=0.0)

    def read(self, path: str) -> str | None:
        file = self.here / path
        return file.read_text().strip() if file.exists() else None

    def write(self, path: str, text: str) -> None:
        (self.here / path).parent.mkdir(parents=True, exist_ok=True)
        (self.here / path).write_text(f"{text}\n")

    def everything(self) -> dict[str, str]:
        """All of the phone's state that a person could see."""
        files = [file for name in ("settings", "cpufreq") for file in sorted((self.here / name).rglob("*"))]
        states = {str(file.relative_to(self.here)): file.read_text() for file in files if file.is_file()}
        return states | {"power": self.read("power") or "", "fixed": self.read("fixed") or ""}


@pytest.fixture
def phone(tmp_path: Path) -> PhoneHere:
    phone = PhoneHere(tmp_path / "a phone")
    for command in _COMMANDS:
        phone.write(f"bin/{command}", _SERVICES)
        (phone.here / "bin" / command).chmod(0o755)
    states = {
        "api": "34",
        "uid": "2000",
        "power": "  mWakefulness=Dozing",
        "fixed": "false",
        "settings/global.window_animation_scale": "1.0",
        "settings/global.transition_animation_scale": "0.5",
        "settings/global.airplane_mode_on": "0",
        "settings/system.screen_off_timeout": "30000",
        "cpufreq/policy0/scaling_governor": "schedutil",
        "cpufreq/policy0/scaling_min_freq": "300000",
        "cpufreq/policy0/scaling_max_freq": "1800000",
        "cpufreq/policy0/scaling_available_frequencies": "300000 900000 1800000",
        "cpufreq/policy0/scaling_available_governors": "schedutil performance",
    }
    for path, text in states.items():
        phone.write(path, text)
    return phone


@pytest.fixture
def settings_log(tmp_path: Path, phone: PhoneHere) -> SettingsLog:
    return SettingsLog(tmp_path / "cache" / "ABC.json", str(phone.here / "own" / "changes"), "ABC")


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


Prepare = Callable[..., Preparation]


@pytest.fixture
def prepared(phone: PhoneHere, settings_log: SettingsLog, progress: RecordedProgress) -> Prepare:
    def prepare(
        set_freq: str | None = None, screen: Literal["keep", "on", "off"] = "keep", *, airplane: bool = False
    ) -> Preparation:
        return Preparation(
            phone, AndroidOptions(set_freq=set_freq, airplane=airplane, screen=screen), settings_log, progress
        )

    return prepare


def nothing_written(phone: PhoneHere, settings_log: SettingsLog) -> bool:
    return not settings_log.host.exists() and not Path(settings_log.phone).exists()


def test_a_phone_is_prepared_and_restored_in_three_round_trips(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    before = phone.everything()
    with prepared(airplane=True, screen="on") as preparation:
        assert phone.round_trips == 2
        assert phone.read("fixed") == "true"
        assert phone.read("power") == "mWakefulness=Awake"
        assert phone.read("settings/global.airplane_mode_on") == "1"
        assert phone.read("settings/global.window_animation_scale") == "0"
        assert phone.read("settings/global.animator_duration_scale") == "0"
        assert phone.read("settings/global.stay_on_while_plugged_in") == "7"
        assert preparation.attributes == {
            "fixed_performance": "on",
            "fixed_performance_before": "unknown, off afterwards",
            "animations": "off",
            "screen": "on",
            "airplane": "on",
        }
        assert settings_log.host.exists()
        assert Path(settings_log.phone).exists()
    assert phone.round_trips == 3
    assert phone.everything() == before  # also: what was absent is absent again
    assert nothing_written(phone, settings_log)
    assert progress.lines == []


def test_everything_is_restored_after_a_failure_and_an_interruption(phone: PhoneHere, prepared: Prepare) -> None:
    before = phone.everything()
    for error in (EnvironmentProblem("it failed"), KeyboardInterrupt()):
        with pytest.raises(type(error)), prepared():
            raise error
        assert phone.everything() == before


def test_the_next_run_restores_settings_of_a_killed_one(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    before = phone.everything()
    prepared(screen="on").__enter__()  # and never left
    with prepared():
        assert phone.read("power") == "mWakefulness=Dozing"
        assert phone.read("settings/global.window_animation_scale") == "0"
    assert phone.everything() == before
    assert nothing_written(phone, settings_log)
    assert "restored what an earlier run had changed" in progress.lines[0]


@pytest.mark.parametrize("lost", ["host", "phone"])
def test_either_settings_log_is_enough(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, lost: str
) -> None:
    before = phone.everything()
    prepared(airplane=True).__enter__()
    if lost == "host":
        settings_log.host.unlink()
    else:  # it is torn behind its first line
        phone.write("own/changes", (phone.read("own/changes") or "").partition("\n")[0])
    with prepared():
        assert phone.read("settings/global.airplane_mode_on") == "0"
    assert phone.everything() == before


def test_settings_that_another_host_has_restored_are_not_restored_again(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    prepared().__enter__()
    logged = settings_log.host.read_text()
    with prepared():
        pass
    settings_log.host.write_text(logged)  # of the host that was killed; the second run was another's
    phone.write("settings/global.window_animation_scale", "0")  # a person's own wish
    with prepared():
        pass
    assert phone.read("settings/global.window_animation_scale") == "0"
    assert nothing_written(phone, settings_log)
    assert len(progress.lines) == 1


def test_a_phone_that_lost_its_settings_log_is_restored(phone: PhoneHere, prepared: Prepare) -> None:
    before = phone.everything()
    with prepared() as preparation:
        (phone.here / "own" / "changes").unlink()
        preparation.prepare()
    assert phone.everything() == before


def test_the_settings_log_of_another_run_is_kept(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog
) -> None:
    with prepared():
        phone.write("own/changes", f"edge-harness changes 2 {'0' * 16}\nend")
    assert phone.read("own/changes") == f"edge-harness changes 2 {'0' * 16}\nend"
    assert settings_log.read_host() is None


def test_a_mode_that_cannot_be_read_is_reported_as_off_afterwards(phone: PhoneHere, prepared: Prepare) -> None:
    with prepared() as preparation:
        assert preparation.attributes["fixed_performance_before"] == "unknown, off afterwards"
    phone.write("power", "  mWakefulness=Awake\n  mFixedPerformanceModeEnabled=false")
    with prepared() as preparation:
        assert "fixed_performance_before" not in preparation.attributes


def test_the_settings_log_is_written_before_anything_is_changed(phone: PhoneHere, prepared: Prepare) -> None:
    phone.write("own", "a file where the folder should be")
    before = phone.everything()
    with pytest.raises(EnvironmentProblem, match="nothing was changed"):
        prepared().__enter__()
    assert phone.everything() == before


def test_settings_that_somebody_changes_meanwhile_are_kept(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    with prepared():
        phone.write("settings/global.window_animation_scale", "0.25")
    assert phone.read("settings/global.window_animation_scale") == "0.25"
    assert phone.read("settings/global.transition_animation_scale") == "0.5"
    assert nothing_written(phone, settings_log)
    assert "window_animation_scale was changed to 0.25 meanwhile" in progress.lines[0]


def test_settings_that_cannot_be_restored_are_reported_and_retried_by_the_next_run(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    before = phone.everything()
    with prepared():
        phone.write("broken/cmd", "failed to set FIXED_PERFORMANCE mode")
    assert phone.read("fixed") == "true"
    assert "mode is not restored (failed to set FIXED_PERFORMANCE mode)" in progress.lines[-1]
    logged = settings_log.read_host()
    assert logged is not None
    assert [change.name for change in logged.changes] == ["mode"]
    (phone.here / "broken" / "cmd").unlink()
    with prepared():
        pass
    assert phone.everything() == before
    assert nothing_written(phone, settings_log)


def test_a_phone_that_becomes_unreachable_is_restored_when_it_returns(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    before = phone.everything()
    with prepared():
        phone.fails.append(DeviceLost("lost Pixel"))
    assert "the next run will try again" in progress.lines[-1]
    with prepared():
        pass
    assert phone.everything() == before


def test_settings_stay_logged_when_restoring_is_interrupted(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog
) -> None:
    with prepared():
        phone.fails.append(Interrupted("stopped"))
    assert settings_log.read_host() is not None


def test_preparing_again_keeps_the_original_values(
    phone: PhoneHere, prepared: Prepare, progress: RecordedProgress
) -> None:
    before = phone.everything()
    with prepared(screen="on") as preparation:
        phone.write("fixed", "false")  # as after a restart
        phone.write("power", "  mWakefulness=Dozing")
        preparation.prepare()
        assert phone.read("fixed") == "true"
        assert phone.read("power") == "mWakefulness=Awake"
    assert phone.everything() == before
    assert progress.lines == []


def test_a_hostile_settings_log_on_the_phone_changes_nothing(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, progress: RecordedProgress
) -> None:
    before = phone.everything()
    header = "edge-harness changes 2 0123456789abcdef"
    hostile = f"{header}\nglobal adb_enabled 1 0\nglobal window_animation_scale $(touch${{IFS}}x) 1.0\nend"
    phone.write("own/changes", hostile)
    with prepared():
        pass
    assert phone.everything() == before
    assert "the settings log on the phone is not used" in progress.lines[0]


def test_an_old_phone_has_no_fixed_performance_mode(phone: PhoneHere, prepared: Prepare) -> None:
    phone.write("api", "29")
    with prepared() as preparation:
        assert preparation.attributes["fixed_performance"] == "not before Android 11"
        assert phone.read("fixed") == "false"


def test_a_refused_mode_is_reported_and_measuring_continues(phone: PhoneHere, prepared: Prepare) -> None:
    phone.write("broken/cmd", "failed to set FIXED_PERFORMANCE mode")
    with prepared() as preparation:
        assert preparation.attributes["fixed_performance"] == "refused: failed to set FIXED_PERFORMANCE mode"
        assert preparation.attributes["animations"] == "off"


def test_a_mode_that_can_be_seen_and_is_on_already_stays_on(phone: PhoneHere, prepared: Prepare) -> None:
    phone.write("power", "  mWakefulness=Awake\n  mFixedPerformanceModeEnabled=true")
    phone.write("fixed", "true")
    with prepared() as preparation:
        assert preparation.attributes["fixed_performance"] == "on"
    assert phone.read("fixed") == "true"


def test_radios_stay_on_where_the_phone_is_reached_through_them(phone: PhoneHere, prepared: Prepare) -> None:
    phone.over_network = True
    with prepared(airplane=True) as preparation:
        assert phone.read("settings/global.airplane_mode_on") == "0"
        assert "reached over the network" in preparation.attributes["airplane"]


def test_a_value_that_could_not_be_restored_is_not_changed(
    phone: PhoneHere, prepared: Prepare, progress: RecordedProgress
) -> None:
    phone.write("settings/global.window_animation_scale", "1.0; reboot")
    with prepared():
        assert phone.read("settings/global.window_animation_scale") == "1.0; reboot"
    assert "could not be restored" in progress.lines[0]


@pytest.mark.parametrize("way", ["uid", "su_android", "su_magisk"])
def test_clocks_are_fixed_and_restored_on_rooted_phones(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog, way: str
) -> None:
    phone.write(way, "0")
    before = phone.everything()
    with prepared(set_freq="mid") as preparation:
        assert phone.read("cpufreq/policy0/scaling_min_freq") == "900000"
        assert phone.read("cpufreq/policy0/scaling_max_freq") == "900000"
        assert phone.read("cpufreq/policy0/scaling_governor") == "performance"
        assert phone.read("fixed") == "false"
        assert preparation.attributes["fixed_clocks"] == "policy0 900000 kHz"
    assert phone.everything() == before
    assert nothing_written(phone, settings_log)
    assert phone.round_trips == 3


def test_clocks_of_a_phone_that_is_not_rooted_are_refused_before_anything_is_changed(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog
) -> None:
    before = phone.everything()
    with pytest.raises(EnvironmentProblem, match="not rooted") as refused:
        prepared(set_freq="max").__enter__()
    assert "--set-freq" in (refused.value.hint or "")
    assert "allow root for Shell in your root app" in (refused.value.hint or "")
    assert phone.everything() == before
    assert nothing_written(phone, settings_log)


def test_clocks_that_cannot_be_fixed_are_refused_and_everything_is_restored(
    phone: PhoneHere, prepared: Prepare, settings_log: SettingsLog
) -> None:
    phone.write("uid", "0")
    before = phone.everything()
    governor = phone.here / "cpufreq" / "policy0" / "scaling_governor"
    governor.unlink()
    governor.symlink_to("/proc/sys/kernel/ostype")  # can be read, never written
    with pytest.raises(EnvironmentProblem, match="policy0/scaling_governor"):
        prepared(set_freq="max").__enter__()
    governor.unlink()
    phone.write("cpufreq/policy0/scaling_governor", "schedutil")
    assert phone.everything() == before
    assert nothing_written(phone, settings_log)


def test_a_shell_without_an_answer_is_reported(phone: PhoneHere, prepared: Prepare) -> None:
    phone.write("bin/sh", "#!/bin/false")
    (phone.here / "bin" / "sh").chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="cannot read the settings of Pixel"):
        prepared().__enter__()


def test_a_phone_can_do_what_its_options_ask_for() -> None:
    options = (*declared_options(AndroidOptions), *declared_options(PhoneOptions))
    of_device = {option.name for option in options if option.option.of_device}
    assert of_device == set(Android.device_options)


def test_an_invalid_state_of_the_screen_is_refused() -> None:
    table = OptionTable(Settings, AndroidOptions)
    with pytest.raises(UsageError, match="--screen dim: input should be 'keep', 'on' or 'off'"):
        resolve({}, table=table, config={"screen": "dim"}, environment={}, default_args={})
