from __future__ import annotations

import pytest

from harness.testing.phones.android.phone import StandInPhone
from tests.processes import wait_until
from tests.testing.phones.conftest import Shell

pytestmark = pytest.mark.slow


def test_tests_can_set_the_battery_state(phone: StandInPhone, sh: Shell) -> None:
    phone.set_battery(level=12, temperature_c=33.3, plugged=False, charge_uah=420_000, voltage_mv=3900)
    lines = {line.strip() for line in sh("dumpsys battery").out.splitlines()}
    assert {"level: 12", "temperature: 333", "USB powered: false", "Charge counter: 420000", "voltage: 3900"} <= lines
    assert sh("cat /sys/class/power_supply/battery/capacity").out == "12\n"
    phone.set_battery(plugged=True)
    assert "  USB powered: true" in sh("dumpsys battery").out.splitlines()


def test_unplugging_in_the_battery_service_changes_only_its_report(phone: StandInPhone, sh: Shell) -> None:
    phone.set_battery(plugged=True)
    sh("dumpsys battery unplug")
    assert "UPDATES STOPPED" in sh("dumpsys battery").out
    assert "USB powered: false" in sh("dumpsys battery").out
    assert sh("cat /sys/class/power_supply/battery/status").out == "Charging\n"
    sh("dumpsys battery reset")
    assert "USB powered: true" in sh("dumpsys battery").out


def test_tests_can_set_temperatures(phone: StandInPhone, sh: Shell) -> None:
    phone.set_thermal(status=2, skin_c=41.2)
    answer = sh("dumpsys thermalservice").out
    assert "Thermal Status: 2\n" in answer
    assert "Temperature{mValue=41.2, mType=3, mName=VIRTUAL-SKIN, mStatus=2}" in answer
    assert sh("cat /sys/class/thermal/thermal_zone0/temp").out == "41200\n"
    assert "Thermal Status: 0" in sh("cmd thermalservice override-status 0; dumpsys thermalservice").out
    phone.set_thermal(status=0, skin_c=30.0)
    assert "Thermal Status: 0" in sh("cmd thermalservice reset; dumpsys thermalservice").out


def test_old_phones_have_no_thermal_service_and_no_fixed_performance(root_sh: Shell, sh: Shell) -> None:
    old = root_sh("cmd power set-fixed-performance-mode-enabled true")
    assert (old.code, old.out) == (255, "Unknown command: set-fixed-performance-mode-enabled\n")
    assert sh("cmd power set-fixed-performance-mode-enabled true; cat /services/fixed_performance").out == "true\n"


def test_fixed_performance_can_be_missing(phone: StandInPhone, sh: Shell) -> None:
    phone.write("/services/no-fixed-performance", "")
    answer = sh("cmd power set-fixed-performance-mode-enabled true")
    assert (answer.code, "Failed to set FIXED_PERFORMANCE mode" in answer.err) == (255, True)
    sh("rm /services/no-fixed-performance")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("cmd nonsense", 20, "cmd: Can't find service: nonsense"),
        ("cmd power nonsense", 255, "Unknown command: nonsense"),
        ("dumpsys nonsense", 0, "Can't find service: nonsense"),
        ("settings nonsense", 255, "Invalid command: nonsense"),
        ("settings get nonsense x", 255, "Invalid namespace"),
        ("run-as nonsense ls", 1, "run-as: unknown package: nonsense"),
        ("am start -n non.sense/.Main", 1, "Activity class {non.sense/non.sense.Main} does not exist"),
        ("am nonsense", 255, "Unknown command: nonsense"),
        ("pm path nonsense", 1, ""),
        ("pm nonsense", 255, "Unknown command: nonsense"),
        ("setprop ro.serialno x", 1, "Failed to set property 'ro.serialno' to 'x'"),
        ("setprop persist.sys.x 1", 1, "Failed to set property"),
        ("perfetto -o /data/local/tmp/x", 1, "Could not connect"),
        ("taskset f00 true", 1, "Invalid argument"),
    ],
)
def test_unknown_service_requests_fail_as_on_android(sh: Shell, command: str, code: int, words: str) -> None:
    answer = sh(command)
    assert answer.code == code
    assert words in answer.out + answer.err


def test_properties_are_read_and_set(sh: Shell) -> None:
    assert sh("getprop sys.boot_completed; getprop nothing; getprop nothing else").out == "1\n\nelse\n"
    assert sh("setprop debug.x 'a b'; getprop debug.x").out == "a b\n"
    assert "[debug.x]: [a b]\n" in sh("getprop").out


def test_settings_are_written_read_and_deleted(sh: Shell) -> None:
    assert sh("settings get global nothing").out == "null\n"
    assert sh("settings put system x '1 2'; settings get system x").out == "1 2\n"
    assert "x=1 2\n" in sh("settings list system").out
    assert sh("settings delete system x; settings delete system x").out == "Deleted 1 rows\nDeleted 0 rows\n"


def test_screen_and_radios_follow_their_commands(sh: Shell) -> None:
    assert "mWakefulness=Asleep" in sh("input keyevent KEYCODE_SLEEP; dumpsys power").out
    assert "Display Power: state=ON" in sh("input keyevent 224; dumpsys power").out
    assert "mStayOn=true" in sh("svc power stayon true; dumpsys power").out
    assert sh("cmd connectivity airplane-mode enable; settings get global airplane_mode_on").out == "1\n"
    assert sh("settings put global airplane_mode_on 0; cmd connectivity airplane-mode").out == "disabled\n"
    assert sh("svc wifi disable; dumpsys wifi; svc wifi enable; dumpsys wifi | head -1").out == (
        "Wi-Fi is disabled\nWi-Fi is enabled\n"
    )


def test_the_log_is_filtered_by_process_time_and_priority(sh: Shell) -> None:
    sh("log -p w -t First one; sh -c \"log -p f -t libc 'Fatal signal 11'; true\"")
    assert [line.split()[4:6] for line in sh("logcat -d").out.splitlines()[1:]] == [["W", "First"], ["F", "libc"]]
    assert "First" not in sh("logcat -d '*:E'").out
    assert sh("logcat -d -T '12-31 23:59:59.000'").out.count("\n") == 1
    first = sh("logcat -d").out.splitlines()[1]
    assert sh(f"logcat -d --pid={first.split()[2]}").out.splitlines()[1:] == [first]


def test_an_app_is_a_script_installed_by_a_test(phone: StandInPhone, sh: Shell) -> None:
    phone.write("/data/app-hooks/org.stand.in", 'echo "$@" > files/result\nexec sleep 60\n')
    started = sh("am start -W -S -n org.stand.in/.Main --es model_dir /data --ei num_iter 5")
    assert started.code == 0
    assert "Status: ok" in started.out
    end = "while [ ! -s files/result ]; do sleep 0.05; done; cat files/result"
    assert "--ei num_iter 5" in sh(f"run-as org.stand.in sh -c '{end}'").out
    assert "package:org.stand.in\n" in sh("pm list packages").out
    sh("am force-stop org.stand.in")
    assert sh("pidof org.stand.in").code == 1
    assert sh("pm uninstall org.stand.in").out == "Success\n"


def test_a_running_app_has_its_packages_name(phone: StandInPhone, sh: Shell) -> None:
    phone.write("/data/app-hooks/org.running.app", "while :; do sleep 0.1; done\n")
    sh("am start -n org.running.app/.Main")
    wait_until(lambda: sh("pidof org.running.app").code == 0)
    sh("am force-stop org.running.app; pm uninstall org.running.app")


def test_pinning_is_real_where_the_machine_has_the_cpu_and_always_recorded(sh: Shell) -> None:
    answer = sh("taskset 1 grep Cpus_allowed_list /proc/self/status; taskset f0 true && tail -n 1 /services/taskset")
    assert answer.out.split() == ["Cpus_allowed_list:", "0", "f0"]


def test_perfetto_writes_the_trace_provided_by_a_test(phone: StandInPhone, sh: Shell) -> None:
    phone.write("/services/perfetto-trace", "a trace")
    sh("echo 'duration_ms: 10' | perfetto --txt -c - -o /data/misc/perfetto-traces/x")
    assert phone.read("/data/misc/perfetto-traces/x") == "a trace"
    started = sh("echo | perfetto -d -c - -o /data/local/tmp/trace").out
    wait_until(lambda: sh("pidof sleep").code == 0)  # from now on it heeds signals
    assert not phone.exists("/data/local/tmp/trace")
    sh(f"kill -TERM {started}")
    wait_until(lambda: phone.exists("/data/local/tmp/trace"))
    sh("rm /services/perfetto-trace")
