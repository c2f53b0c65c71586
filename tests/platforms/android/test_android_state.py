from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platforms.android.state.state import STATE_SCRIPT, read_state

PIXEL = """[battery]
  AC powered: false
  USB powered: true
  Wireless powered: false
  Dock powered: false
  Charge counter: 2893000
  present: true
  level: 87
  scale: 100
  voltage: 4233
  temperature: 296
[thermal]
IsStatusOverride: false
ThermalStatusListeners:
Thermal Status: 0
Cached temperatures:
\tTemperature{mValue=71.0, mType=0, mName=BIG, mStatus=3}
\tTemperature{mValue=55.1, mType=3, mName=VIRTUAL-SKIN, mStatus=3}
Current temperatures from HAL:
\tTemperature{mValue=48.25, mType=0, mName=BIG, mStatus=0}
\tTemperature{mValue=45.0, mType=1, mName=G3D, mStatus=0}
\tTemperature{mValue=29.6, mType=2, mName=battery, mStatus=0}
\tTemperature{mValue=32.704, mType=3, mName=VIRTUAL-SKIN, mStatus=0}
\tTemperature{mValue=4210.0, mType=6, mName=vdroop1, mStatus=0}
\tTemperature{mValue=100.0, mType=8, mName=soc, mStatus=0}
\tTemperature{mValue=-5700.0, mType=-1, mName=virtual, mStatus=0}
Temperature static thresholds from HAL:
\tTemperatureThreshold{mType=3, mName=VIRTUAL-SKIN, mHotThrottlingThresholds=[NaN, 39.0, 43.0, 45.0, 46.5, 52.0, 55.0], mColdThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}
[kernel]
/proc/loadavg:0.52 0.58 0.59 1/467 12345
/proc/stat:cpu  1000 0 500 8000 500 0 0 0 0 0
/proc/stat:cpu0 500 0 250 4000 250 0 0 0 0 0
/proc/stat:cpu1 500 0 250 4000 250 0 0 0 0 0
/proc/meminfo:MemAvailable:    4761803 kB
/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq:300000
/sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq:2850000
/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq:1803000
/sys/devices/system/cpu/cpufreq/policy0/related_cpus:0 1 2
/sys/devices/system/cpu/cpufreq/policy6/related_cpus:10
/sys/devices/system/cpu/cpufreq/policy0/stats/time_in_state:300000 1234
/sys/devices/system/cpu/cpufreq/policy0/stats/time_in_state:1803000 7
/sys/devices/system/cpu/cpufreq/policy6/stats/time_in_state:2850000 99
[end]
"""  # noqa: E501 - as a phone prints it

SAMSUNG = """[battery]
  AC powered: false
  USB powered: false
  Wireless powered: false
  Charge counter: 807642
  present: true
  level: 19
  scale: 100
  voltage: 3685
  temperature: 376
[thermal]
Thermal Status: 2
Current temperatures from HAL:
\tTemperature{mValue=50.2, mType=0, mName=AP, mStatus=0}
\tTemperature{mValue=0.0, mType=2, mName=SUBBAT, mStatus=0}
\tTemperature{mValue=40.7, mType=3, mName=SKIN, mStatus=0}
Temperature static thresholds from HAL:
[kernel]
[end]
"""

HIDL = """[thermal]
Thermal Status: 0
Current temperatures from HAL:
\tTemperature{mValue=36.7, mType=3, mName=skin, mStatus=0}
Temperature static thresholds from HAL:
\t{.type = BATTERY, .name = battery, .hotThrottlingThresholds = [NaN, NaN, NaN, NaN, NaN, 65.0, 70.0], .vrThrottlingThreshold = NaN}
\t{.type = SKIN, .name = skin, .hotThrottlingThresholds = [25.0, NaN, 45.0, 52.0, 55.0, 58.0, 60.0], .vrThrottlingThreshold = NaN}
"""  # noqa: E501 - as a phone prints it


def test_the_state_of_a_pixel_is_read_completely() -> None:
    state = read_state(PIXEL, 5.0).device
    assert (state.time, state.load, state.cpus, state.busy) == (5.0, 0.52, 2, None)
    assert state.frequency_mhz == (300.0, 0.0, 1803.0, *(0.0,) * 7, 2850.0), "CPUs that are offline shift no others"
    assert state.domain_cpus == {"policy0": (0, 1, 2), "policy6": (10,)}
    assert state.residency_ms == {"policy0": {300000: 12340, 1803000: 70}, "policy6": {2850000: 990}}
    assert state.memory_available_bytes == 4761803 * 1024
    assert (state.battery_percent, state.battery_charge_uah, state.battery_voltage_mv) == (87.0, 2893000, 4233)
    assert state.plugged is True
    assert state.thermal_status == 0


def test_only_present_temperatures_count() -> None:
    reading = read_state(PIXEL, 0.0)
    assert reading.device.temperature_c == 48.25
    assert reading.skins == (("VIRTUAL-SKIN", 32.704, 39.0),)


def test_a_phone_without_thresholds_has_skin_sensors() -> None:
    reading = read_state(SAMSUNG, 0.0)
    assert reading.skins == (("SKIN", 40.7, None),)
    assert (reading.device.thermal_status, reading.device.plugged, reading.battery_c) == (2, False, 37.6)
    assert reading.device.temperature_c == 50.2


def test_older_thresholds_are_parsed_and_the_first_is_no_limit() -> None:
    assert read_state(HIDL, 0.0).skins == (("skin", 36.7, 45.0),)


def test_busy_is_the_share_between_two_readings() -> None:
    before = read_state("[kernel]\n/proc/stat:cpu  100 0 100 700 100 0 0 0 0 0\n", 0.0)
    after = read_state("[kernel]\n/proc/stat:cpu  150 0 125 720 105 0 0 0 9 9\n", 1.0, before)
    assert after.device.busy == pytest.approx(0.75)
    assert read_state("[kernel]\n/proc/stat:cpu  1 0 1 7 1 0 0\n", 2.0, after).device.busy is None  # it was restarted


def test_overridden_readings_are_none() -> None:
    text = PIXEL.replace("  AC powered: false", "  (UPDATES STOPPED -- use 'reset' to restart)\n  AC powered: false")
    reading = read_state(text.replace("IsStatusOverride: false", "IsStatusOverride: true"), 0.0)
    assert reading.overridden
    state = reading.device
    assert (state.battery_percent, state.plugged, state.battery_charge_uah, state.thermal_status) == (None,) * 4


@pytest.mark.parametrize(("lines", "health"), [("present: true", 6), ("present: false", None), ("present: maybe", 6)])
def test_the_health_of_a_battery_counts_where_there_is_one(lines: str, health: int | None) -> None:
    assert read_state(f"[battery]\n  {lines}\n  health: 6\n  level: 50\n", 0.0).battery_health == health
    assert read_state(f"[battery]\n  {lines}\n  health: 9\n  level: 50\n", 0.0).battery_health is None


def test_a_device_without_a_battery_has_no_charge() -> None:
    state = read_state("[battery]\n  AC powered: true\n  present: false\n  level: 0\n  scale: 100\n", 0.0).device
    assert (state.battery_percent, state.plugged) == (None, True)


@pytest.mark.parametrize(("raw", "celsius"), [("41000", 41.0), ("410", 41.0), ("41", 41.0), ("-273000", None)])
def test_thermal_zones_replace_a_missing_thermal_service(raw: str, celsius: float | None) -> None:
    state = read_state(f"[kernel]\n[thermal]\n\n[zones]\n/sys/class/thermal/thermal_zone3/temp:{raw}\n", 0.0).device
    assert state.temperature_c == celsius


@pytest.mark.parametrize(("counter", "charge_uah"), [("2105000", 2105000), ("2105", None), ("120000", 120000)])
def test_a_counter_in_milliampere_hours_is_no_charge(counter: str, charge_uah: int | None) -> None:
    text = f"[battery]\n  level: 57\n  scale: 100\n  Charge counter: {counter}\n"
    assert read_state(text, 0.0).device.battery_charge_uah == charge_uah


def test_implausible_values_are_none() -> None:
    state = read_state("[battery]\n  Charge counter: 0\n  level: 300\n  scale: 100\n  voltage: 4\n", 0.0).device
    assert (state.battery_charge_uah, state.battery_percent, state.battery_voltage_mv) == (None, None, None)


def test_empty_output_gives_no_values() -> None:
    state = read_state("", 1.0).device
    assert state.model_dump(exclude_none=True, exclude_defaults=True) == {"time": 1.0}


@given(st.text())
def test_garbage_never_raises(text: str) -> None:
    read_state(text, 0.0)


_TOKENS = st.one_of(
    st.sampled_from(sorted({word for line in (PIXEL + SAMSUNG + HIDL).splitlines() for word in line.split(" ")})),
    st.sampled_from(["9" * 400, "1e999", "nan", "-", ",", "\n", "[kernel]\n", "[battery]\n", "[thermal]\n"]),
    st.text(max_size=3),
)


@given(st.lists(_TOKENS, max_size=60), st.sampled_from([" ", "\n", ""]))
def test_shuffled_output_never_raises(tokens: list[str], between: str) -> None:
    read_state(between.join(tokens), 0.0, read_state(PIXEL, 0.0))


@given(st.data())
def test_damaged_output_never_raises(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(PIXEL)))
    end = data.draw(st.integers(start, len(PIXEL)))
    read_state(PIXEL[:start] + data.draw(st.text(max_size=5)) + PIXEL[end:], 0.0)


def test_the_script_is_a_fragment_that_can_be_repeated() -> None:
    assert STATE_SCRIPT.startswith("(\n")


def test_the_kernel_is_read_before_slow_services() -> None:
    assert STATE_SCRIPT.index("[kernel]") < STATE_SCRIPT.index("dumpsys")


def test_the_script_has_no_other_output() -> None:
    assert STATE_SCRIPT.rstrip().endswith(") 2>/dev/null </dev/null")


def test_the_time_that_a_phone_was_awake_is_read_beside_its_uptime() -> None:
    kernel = PIXEL.replace("[kernel]", "[kernel]\n/proc/uptime:987.65 1234.5\n/sys/power/suspend_stats/success:12")
    state = read_state(kernel, 0.0).device
    assert (state.uptime_s, state.awake_s, state.suspend_count) == (987.65, 50.0, 12)
    without = read_state(PIXEL, 0.0).device
    assert (without.uptime_s, without.suspend_count) == (None, None)


def test_a_phone_that_reports_no_limits_of_its_skin_is_blind() -> None:
    empty = PIXEL.replace("[NaN, 39.0, 43.0, 45.0, 46.5, 52.0, 55.0]", "[NaN, NaN, NaN, NaN, NaN, NaN, NaN]")
    missing = "\n".join(line for line in PIXEL.splitlines() if "Threshold{" not in line)
    assert [read_state(text, 0.0).blind for text in (PIXEL, empty, missing)] == [False, True, True]
    assert not read_state("[battery]\n[thermal]\n[end]\n", 0.0).blind, "nobody expects anything of its status"
