from __future__ import annotations

import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.settings import Settings
from harness.core.command import Command
from harness.core.device import ON_PROCESSOR, Device, DeviceStatus
from harness.core.errors import DeviceLost, EnvironmentProblem, UsageError
from harness.core.protocols import Diagnosable
from harness.flows.measure.devices import DeviceRequest, find_devices
from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.progress import RecordedProgress
from platforms.android import create
from platforms.android.devices import describe_phone, parse_description
from platforms.android.files.workdir import workdir_in
from platforms.android.link import reconnect
from platforms.android.link.adb import AdbServer, ListedPhone, adb_program
from platforms.android.link.phone import Phone
from platforms.android.link.states import unusable_status
from platforms.android.options import AndroidOptions
from platforms.android.platform import Android, unique_devices
from platforms.android.scripts import read_script
from platforms.processors import CPUINFO, parse_processor
from tests.builders.sources.repositories import require
from tests.platforms.android.conftest import MakePlatform
from tests.processes import wait_until

PIXEL = """\
[ro.board.platform]: [gs201]
[ro.build.fingerprint]: [google/cheetah/cheetah:14/UQ1A.240105.004/11206848:user/release-keys]
[ro.build.version.release]: [14]
[ro.build.version.sdk]: [34]
[ro.product.cpu.abi]: [arm64-v8a]
[ro.product.manufacturer]: [Google]
[ro.product.model]: [Pixel 7 Pro]
[ro.serialno]: [2A1B1FDH300PPA]
[ro.soc.manufacturer]: [Google]
[ro.soc.model]: [GS201]
[more]
id=2000
su=
kernel=5.10.157-android13-4
randomize_va_space=2
cores=8
memory_kib=11738376
policy0.scaling_governor=sched_pixel
policy0.cpuinfo_max_freq=1803000
policy0.related_cpus=0 1 2 3
policy6.scaling_governor=sched_pixel
policy6.cpuinfo_max_freq=2850000
policy6.related_cpus=6 7
[state]
[battery]
  level: 83
  temperature: 261
[end]
"""

BOOT_COMPLETED = "/services/properties/sys.boot_completed"
_UNPERMITTED = (
    "no permissions (missing udev rules? user is in the plugdev group); "
    "see [http://developer.android.com/tools/device.html]"
)


def device(identity: str, name: str) -> Device:
    return Device(platform="android", identity=identity, name=name)


def test_a_phone_is_described_by_its_properties() -> None:
    pixel = parse_description("adb-2A1B1FDH300PPA-x._adb-tls-connect._tcp", PIXEL, 0.0)
    assert pixel.identity == "2A1B1FDH300PPA"
    assert (pixel.kind, pixel.os, pixel.abi) == ("Google Pixel 7 Pro", "Android 14 (API 34)", "arm64-v8a")
    assert (pixel.cores, pixel.memory_bytes) == (8, 11738376 * 1024)
    assert pixel.attributes["soc"] == "Google GS201"
    assert pixel.attributes["root"] == "no"
    assert pixel.attributes["address_randomisation"] == "on"
    assert pixel.attributes["governor"] == "sched_pixel"
    assert pixel.attributes["clusters"] == "CPU 0 1 2 3 up to 1803 MHz; CPU 6 7 up to 2850 MHz"
    assert pixel.attributes["battery"] == "83 %"


def test_the_maker_of_each_core_is_that_of_its_own_lines(tmp_path: Path) -> None:
    """As in phones with a Snapdragon 865: cores of two makers, in lines that belong together."""
    cores = [("0x51", "0x805"), ("0x41", "0xd0d")]
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("".join(f"CPU implementer\t: {maker}\nCPU part\t: {part}\n\n" for maker, part in cores))
    script = read_script("describe.sh").replace("/proc/cpuinfo", str(cpuinfo))
    described = subprocess.run(("sh", "-c", script), stdout=subprocess.PIPE, text=True, check=True)
    phone = parse_description("serial", described.stdout, 0.0)
    assert phone.microarchitecture == "Kryo 485 Silver, Cortex-A77"


def test_properties_may_have_brackets_and_blanks() -> None:
    text = PIXEL.replace("[Pixel 7 Pro]", "[Box [4K] ]").replace("[2A1B1FDH300PPA]", "[2A1B1FDH300PPA ]")
    phone = parse_description("serial", text, 0.0)
    assert (phone.kind, phone.identity, phone.attributes["serialno"]) == (
        "Google Box [4K]",
        "2A1B1FDH300PPA",
        "2A1B1FDH300PPA",
    )
    assert parse_description("serial", PIXEL.replace("2A1B1FDH300PPA", "  "), 0.0).identity == "serial"


@pytest.mark.slow
def test_a_phone_names_its_processor_and_keeps_its_serial_number_as_identity(phone: Phone) -> None:
    device, processor = describe_phone(phone), parse_processor(CPUINFO.read_text())
    assert processor is not None, "the processor of a stand-in is that of its machine"
    assert (device.microarchitecture, device.extensions) == (processor.microarchitecture, processor.extensions)
    assert ON_PROCESSOR not in device.identity


@pytest.mark.parametrize("number", ["", "unknown", "0123456789ABCDEF"])
def test_a_phone_without_a_serial_number_is_identified_by_its_adb_name(number: str) -> None:
    assert parse_description("10.0.0.7:5555", PIXEL.replace("2A1B1FDH300PPA", number), 0.0).identity == "10.0.0.7:5555"


def test_emulators_of_one_version_are_two_devices() -> None:
    emulator = PIXEL.replace("2A1B1FDH300PPA", "EMULATOR35X2X10X0")
    listed = unique_devices([parse_description(name, emulator, 0.0) for name in ("emulator-5554", "emulator-5556")])
    assert [device.identity for device in listed] == ["emulator-5554", "emulator-5556"]


def list_behind(answers: Mapping[str, str]) -> Sequence[DeviceStatus]:
    """The phones behind a server that gives these answers."""

    class Answers(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if length := self.request.recv(4):
                self.request.sendall(answers[self.request.recv(int(length, 16)).decode()].encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answers) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        try:
            return Android(Settings(), AdbServer(f"127.0.0.1:{served.server_address[1]}")).list_devices()
        finally:
            served.shutdown()


def test_phones_with_one_serial_number_are_not_called_silent() -> None:
    """As boards whose maker gave all of them the same: adb refuses to choose one."""
    listed = "TWIN\tdevice\nTWIN\tdevice"
    refused = "more than one device"
    statuses = list_behind(
        {
            "host:devices": f"OKAY{len(listed):04x}{listed}",
            "host-serial:TWIN:features": f"FAIL{len(refused):04x}{refused}",
        }
    )
    assert [status.state.partition(",")[0] for status in statuses] == ["several phones have the serial number TWIN"] * 2
    assert not any(status.may_return for status in statuses)


def test_a_phone_without_a_serial_number_for_adb_is_called_that() -> None:
    listed = "(no serial number)\tdevice"
    (status,) = list_behind({"host:devices": f"OKAY{len(listed):04x}{listed}"})
    assert (status.state, status.may_return) == ("without a serial number", False)
    assert "adb connect" in status.remedy


@given(st.text())
def test_any_description_gives_an_identity(text: str) -> None:
    assert parse_description("serial", text, 0.0).identity
    assert parse_description("serial", PIXEL[: len(text)] + text, 0.0).identity


def test_a_phone_that_is_reached_twice_is_listed_once_by_its_cable() -> None:
    devices = unique_devices([device("B", "10.0.0.7:5555"), device("B", "B"), device("A", "10.0.0.8:5555")])
    assert [(device.identity, device.name) for device in devices] == [("A", "10.0.0.8:5555"), ("B", "B")]


def test_a_phone_that_is_reached_twice_is_listed_by_the_address_that_a_user_names() -> None:
    reached = [device("B", "10.0.0.7:5555"), device("B", "B")]
    assert [device.name for device in unique_devices(reached, ["10.0.0.7:5555"])] == ["10.0.0.7:5555"]
    assert [device.name for device in unique_devices(reached, ["B"])] == ["B"]


@pytest.mark.slow
def test_a_phone_is_found_by_either_of_its_addresses(lab: PhoneLab, make_platform: MakePlatform) -> None:
    first = lab.phones[0].serial
    second = first.replace("127.0.0.1", "localhost")
    platform = make_platform(lab)
    AdbServer(lab.server).connect(second)
    try:
        for name in (first, second):
            (found,) = find_devices(platform, DeviceRequest(wanted=(name,)), RecordedProgress())
            assert found.name == name
    finally:
        words = (str(adb_program()), "-P", str(lab.port), "disconnect", second)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def test_the_cable_is_preferred_to_an_mdns_name() -> None:
    wireless = "adb-c4d1a2b3-Xy12Zz (2)._adb-tls-connect._tcp"
    (listed,) = unique_devices([device("c4d1a2b3", wireless), device("c4d1a2b3", "c4d1a2b3")])
    assert listed.name == "c4d1a2b3"


def test_serials_and_states_may_have_blanks() -> None:
    wireless = "adb-c4d1a2b3-Xy12Zz (2)._adb-tls-connect._tcp"
    assert ListedPhone.parse(f"{wireless}\tdevice\nR5CT1234\t{_UNPERMITTED}\n\n") == (
        ListedPhone(wireless, "device"),
        ListedPhone("R5CT1234", _UNPERMITTED),
    )


@given(st.text())
def test_whatever_a_server_lists_has_a_serial(text: str) -> None:
    assert all(listed.serial for listed in ListedPhone.parse(text))


def test_a_state_with_details_in_brackets_has_its_remedy() -> None:
    status = unusable_status("R5CT1234", _UNPERMITTED)
    assert "udev rules" in status.remedy
    assert not status.may_return


@pytest.mark.parametrize("state", ["unauthorized", "offline", "booting", "connecting", "absent", "not answering"])
def test_a_phone_that_may_return_has_a_remedy(state: str) -> None:
    status = unusable_status("R5CT1234", state)
    assert status.may_return
    assert status.remedy != unusable_status("R5CT1234", "unheard of").remedy


@pytest.mark.parametrize("folder", ["", "/", "sdcard", "/a\nb"])
def test_an_invalid_folder_is_refused(folder: str) -> None:
    with pytest.raises(UsageError, match="--android-dir"):
        workdir_in(folder)
    with pytest.raises(UsageError, match="--android-dir"):
        create(Settings(plug_ins=(AndroidOptions(android_dir=folder, adb_server="127.0.0.1:5037"),)))


def test_an_invalid_frequency_option_is_refused() -> None:
    with pytest.raises(UsageError, match="no clock"):
        create(Settings(plug_ins=(AndroidOptions(set_freq="faster", adb_server="127.0.0.1:5037"),)))


def test_a_missing_server_is_reported() -> None:
    platform = create(Settings(plug_ins=(AndroidOptions(adb_server="127.0.0.2:1"),)))
    with pytest.raises(EnvironmentProblem, match="no adb server"):
        platform.devices()
    assert isinstance(platform, Diagnosable)
    assert [finding.ok for finding in platform.diagnose() if finding.name == "adb server"] == [False]


@pytest.mark.slow
def test_a_server_that_the_diagnosis_started_is_told() -> None:
    """It goes on when the command has ended, which nobody asked for."""
    require("adb")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    platform = create(Settings(plug_ins=(AndroidOptions(adb_server=f"127.0.0.1:{port}"),)))
    assert isinstance(platform, Diagnosable)
    try:
        shown = [finding.found for _ in range(2) for finding in platform.diagnose() if finding.name == "adb server"]
    finally:
        subprocess.run(["adb", "-P", str(port), "kill-server"], check=True, capture_output=True)
    assert ["started by this command" in found for found in shown] == [True, False]


@pytest.mark.slow
def test_a_phone_is_found_with_one_round_trip(lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(lab)
    lab.phones[0].round_trips = 0
    (device,) = platform.devices()
    assert lab.phones[0].round_trips == 1
    assert device.name == lab.phones[0].serial
    assert device.identity == lab.phones[0].read("/services/properties/ro.serialno").strip()
    assert device.cores == 8
    assert device.memory_bytes > 0


@pytest.mark.slow
def test_a_phone_that_refuses_access_is_reported_by_the_diagnosis(
    broken_lab: PhoneLab, make_platform: MakePlatform
) -> None:
    platform, stand_in = make_platform(broken_lab, return_timeout=0.0), broken_lab.phones[0]
    (device_before,) = platform.devices()
    stand_in.unauthorise()
    server = AdbServer(broken_lab.server)
    wait_until(lambda: server.state(stand_in.serial) == "unauthorized")
    assert platform.devices() == ()
    (finding,) = (finding for finding in platform.diagnose() if finding.name == stand_in.serial)
    assert (finding.ok, finding.found) == (False, "unauthorized")
    assert "Allow USB debugging" in finding.remedy
    with (
        pytest.raises(DeviceLost, match="it is unauthorized") as refused,
        platform.open(device_before, RecordedProgress()),
    ):
        pass
    assert "Allow USB debugging" in (refused.value.hint or "")


def has_left(server: AdbServer, serial: str) -> bool:
    return server.state(serial) != "device"


class ActingProgress(RecordedProgress):
    """Does something when it is told that something is waited for."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act

    def say(self, text: str) -> None:
        super().say(text)
        if "waiting at most" in text:
            self._act()


@pytest.mark.slow
def test_a_phone_that_is_not_usable_at_the_start_is_waited_for(
    broken_lab: PhoneLab, make_platform: MakePlatform
) -> None:
    platform, stand_in = make_platform(broken_lab), broken_lab.phones[0]
    (device,) = platform.devices()
    request = DeviceRequest((stand_in.serial,), timeout_s=60.0)
    faults: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "booting": (lambda: stand_in.write(BOOT_COMPLETED, "0"), lambda: stand_in.write(BOOT_COMPLETED, "1")),
        "unauthorized": (stand_in.unauthorise, stand_in.authorise),
        "offline": (stand_in.go_offline, stand_in.come_online),
        "absent": (stand_in.unplug, stand_in.plug),
    }
    server = AdbServer(broken_lab.server)
    for state, (break_it, mend_it) in faults.items():
        gone = partial(has_left, server, stand_in.serial) if state != "booting" else lambda: True
        break_it()
        wait_until(gone)
        looking = ActingProgress(mend_it)
        assert [found.identity for found in find_devices(platform, request, looking)] == [device.identity]
        assert f"{stand_in.serial} (" in looking.lines[0]
        break_it()
        wait_until(gone)
        opening = ActingProgress(mend_it)
        with platform.open(device, opening) as session:
            assert session.run(Command(("/system/bin/sh", "-c", "echo up"))).stdout == "up\n"
        assert f"{stand_in.serial} is " in opening.lines[0]


@pytest.mark.slow
def test_a_phone_that_blinks_while_it_is_described_is_listed_with_its_remedy(
    broken_lab: PhoneLab, make_platform: MakePlatform
) -> None:
    platform, stand_in = make_platform(broken_lab), broken_lab.phones[0]
    stand_in.cut_connection_after(500)
    (status,) = platform.list_devices()
    assert (status.name, status.state, status.device) == (stand_in.serial, "not answering", None)
    assert status.remedy


@pytest.mark.slow
def test_a_phone_is_locked_by_one_session_at_a_time(lab: PhoneLab, make_platform: MakePlatform) -> None:
    first, second = make_platform(lab), make_platform(lab, lock_timeout=0.3)
    (device,) = first.devices()
    with (
        first.open(device, RecordedProgress()),
        pytest.raises(EnvironmentProblem, match="another harness"),
        second.open(device, RecordedProgress()),
    ):
        pass


@pytest.mark.slow
def test_a_phone_is_restarted_before_measuring_on_request(broken_lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(broken_lab, reboot=True)
    phone = Phone(AdbServer(broken_lab.server), broken_lab.phones[0].serial)
    boot = "cat /proc/sys/kernel/random/boot_id"
    before = phone.sh(boot).stdout
    broken_lab.phones[0].write("/services/properties/persist.adb.tcp.port", "5555")
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        assert session.run(Command(("/system/bin/sh", "-c", "echo up"))).stdout == "up\n"
    assert phone.sh(boot).stdout != before


@pytest.mark.slow
def test_a_phone_that_a_restart_would_disconnect_is_not_restarted(
    lab: PhoneLab, phone: Phone, make_platform: MakePlatform
) -> None:
    platform = make_platform(lab, reboot=True)
    boot = "cat /proc/sys/kernel/random/boot_id"
    before = phone.sh(boot).stdout
    (device,) = platform.devices()
    with pytest.raises(EnvironmentProblem, match="over the network"), platform.open(device, RecordedProgress()):
        pass
    assert phone.sh(boot).stdout == before


@pytest.mark.slow
def test_a_phone_before_android_8_is_refused(make_platform: MakePlatform) -> None:
    with start_phones(1, api=25) as old:
        platform = make_platform(old)
        assert platform.devices() == ()
        (finding,) = (each for each in platform.diagnose() if each.name == old.phones[0].serial)
    assert "(API 25), which is too old" in finding.found
    assert "Android 8" in finding.remedy


@pytest.mark.slow
def test_clocks_of_a_hot_phone_are_fixed_when_it_is_cool(rooted_lab: PhoneLab, make_platform: MakePlatform) -> None:
    stand_in = rooted_lab.phones[0]
    limit = "/sys/devices/system/cpu/cpufreq/policy4/scaling_max_freq"
    full = stand_in.read(limit)
    platform = make_platform(rooted_lab, set_freq="max", cool_timeout=0.2)
    (device,) = platform.devices()
    progress = RecordedProgress()
    try:
        stand_in.set_thermal(status=3, skin_c=47.0)
        stand_in.write(limit, "1197000\n")
        with pytest.raises(EnvironmentProblem, match="thermal status 3"), platform.open(device, progress):
            pass
        stand_in.set_thermal(status=0, skin_c=30.0)
        assert stand_in.read(limit) == "1197000\n", "what heat does is left to it"
        with platform.open(device, progress):
            pass
    finally:
        stand_in.set_thermal(status=0, skin_c=30.5)
        stand_in.write(limit, full)
    assert "policy4 was limited to 1197000 kHz of 2253000 kHz before" in progress.lines[-1]


@pytest.mark.slow
def test_waiting_for_a_hung_phone_is_limited(make_platform: MakePlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "_GLANCE_S", 1.0)
    with start_phones(1) as hung:
        platform = make_platform(hung, return_timeout=0.5)
        progress = RecordedProgress()
        open_phone = platform.open(platform.devices()[0], progress)
        session = open_phone.__enter__()
        hung.phones[0].freeze()
        asked = time.monotonic()
        with pytest.raises(DeviceLost, match="did not come back") as lost:
            session.reconnect()
        waited = time.monotonic()
        assert not open_phone.__exit__(DeviceLost, lost.value, None)
        assert waited - asked < 10, "an answer may take 15 s where nobody limits it"
        assert time.monotonic() - waited < 10, "nor may each step of the way out"
        assert "the next run will try again" in progress.lines[-1]
        hung.phones[0].thaw()


@pytest.mark.slow
def test_a_phone_is_restored_when_the_session_ends(lab: PhoneLab, make_platform: MakePlatform) -> None:
    platform = make_platform(lab)
    (device,) = platform.devices()

    def animations(text: str) -> Command:
        return Command(("/system/bin/sh", "-c", text))

    with platform.open(device, RecordedProgress()) as session:
        read = animations("settings get global window_animation_scale")
        during = session.run(read).stdout
        assert "fixed_performance" in " ".join(session.device.attributes)
    with platform.open(device, RecordedProgress()) as session:
        assert session.run(read).stdout == during
    assert during.strip() in {"0", "0.0"}


@pytest.mark.slow
def test_twenty_phones_are_used_at_once(make_platform: MakePlatform, lab: PhoneLab, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(bytes(500_000))
    with start_phones(20) as many:
        platform = make_platform(many)
        devices = platform.devices()
        assert len({device.identity for device in devices}) == 20

        def measure(device: Device) -> str:
            with platform.open(device, RecordedProgress()) as session:
                staged = session.stage({"model": tmp_path / "model"}, {})
                script = 'wc -c <"$1"; getprop ro.serialno'
                return session.run(Command(("/system/bin/sh", "-c", script, "sh", staged.files["model"]))).stdout

        with ThreadPoolExecutor(max_workers=20) as pool:
            outputs = list(pool.map(measure, devices))
    assert outputs == [f"500000\n{device.identity}\n" for device in devices]
