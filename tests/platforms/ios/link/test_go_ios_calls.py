"""Calls of go-ios on output that was recorded from it, or is what its source prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.errors import DeviceLost, EnvironmentProblem
from platforms.ios.link.client import (
    AppLaunch,
    Battery,
    CrashReport,
    InstalledApp,
    PhoneProperties,
    XCTestEnd,
    XCTestStart,
)
from platforms.ios.link.crash_names import process_of
from platforms.ios.link.errors import NoDeveloperServices, PhoneNotPaired
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.link.go_ios.crash_reports import pattern_of
from tests.platforms.ios.link.recorded import Answer, RecordedProgram, failed, log_line, panicked, write_program
from tests.processes import wait_until

UDID = "00008110-001A2B3C4D5E6F70"
BUNDLE = "org.example.Runner"
UNPAIRED = failed(
    "failed getting lockdown values",
    "could not retrieve PairRecord with error: ReadPair failed with errorcode '2', is the device paired?",
)
NIL = panicked("runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: ...]")
VALUES = {
    "ActivationState": "Activated",
    "BuildVersion": "20H350",
    "CPUArchitecture": "arm64e",
    "DeviceClass": "iPhone",
    "DeviceName": "Ann's \u001b[31m iPhone",
    "HardwareModel": "D27AP",
    "PasswordProtected": False,
    "ProductName": "iPhone OS",
    "ProductType": "iPhone14,7",
    "ProductVersion": "16.7.10",
    "UniqueDeviceID": UDID,
}


def program(folder: Path, answers: dict[str, Answer]) -> tuple[GoIos, RecordedProgram]:
    written = write_program(folder, answers)
    return GoIos(written.path), written


def values(**changes: object) -> Answer:
    return Answer(json.dumps({**VALUES, **changes}) + "\n")


def test_properties_are_those_of_lockdown(tmp_path: Path) -> None:
    client, _ = program(tmp_path, {"lockdown get": values(), "lockdown get DeveloperModeStatus": Answer("true\n")})
    assert client.read_properties(UDID) == PhoneProperties(
        udid=UDID,
        name="Ann's \u001b[31m iPhone",
        product="iPhone14,7",
        version="16.7.10",
        build="20H350",
        model="D27AP",
        abi="arm64e",
        developer_mode=True,
    )


def test_before_ios_16_there_is_no_developer_mode(tmp_path: Path) -> None:
    answers = {
        "lockdown get": values(ProductVersion="15.8", DeviceClass="iPad"),
        "lockdown get DeveloperModeStatus": Answer("null\n"),
    }
    properties = program(tmp_path, answers)[0].read_properties(UDID)
    assert (properties.developer_mode, properties.system) == (None, "iPadOS")


def test_a_phone_without_a_version_is_refused(tmp_path: Path) -> None:
    client, _ = program(tmp_path, {"lockdown get": values(ProductVersion=None, DeviceName=["x"])})
    with pytest.raises(EnvironmentProblem, match="which version of iOS"):
        client.read_properties(UDID)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            failed("Pairing failed", "Please accept the PairingDialog on the device and run pairing again!"),
            "asks whether",
        ),
        (failed("Pairing failed", "Lockdown error: UserDeniedPairing"), "chose not to trust"),
        (failed("Pairing failed", "Lockdown error: PasswordProtected"), "is locked"),
        (panicked("interface conversion: interface {} is nil, not []uint8"), "does not trust this computer"),
        (Answer(stderr=log_line("INFO", f"Successfully paired {UDID}") + "\n"), "does not trust this computer"),
    ],
)
def test_a_phone_that_does_not_trust_this_computer_is_made_to_ask(tmp_path: Path, answer: Answer, words: str) -> None:
    client, written = program(tmp_path, {"lockdown get": UNPAIRED, "pair": answer})
    with pytest.raises(PhoneNotPaired, match=words):
        client.read_properties(UDID)
    assert [call[0] for call in written.calls][:2] == ["lockdown", "pair"]


def test_other_calls_do_not_make_it_ask(tmp_path: Path) -> None:
    client, written = program(tmp_path, {"crash ls": UNPAIRED})
    with pytest.raises(PhoneNotPaired):
        client.list_crash_reports(UDID)
    assert [call[0] for call in written.calls] == ["crash"]


def test_a_connection_that_go_ios_did_not_notice_to_be_refused_is_explained(tmp_path: Path) -> None:
    client, _ = program(tmp_path / "unpaired", {"apps": NIL, "lockdown get": UNPAIRED})
    with pytest.raises(PhoneNotPaired, match="does not trust"):
        client.list_apps(UDID)
    client, _ = program(tmp_path / "locked", {"kill": NIL, "lockdown get": values(PasswordProtected=True)})
    with pytest.raises(PhoneNotPaired, match="is locked"):
        client.kill(UDID, BUNDLE)
    client, _ = program(tmp_path / "other", {"apps": NIL, "lockdown get": values()})
    with pytest.raises(EnvironmentProblem, match="nil pointer"):
        client.list_apps(UDID)


NO_IMAGE = failed(
    "processcontrol failed",
    'instruments service "com.apple.instruments.remoteserver.DVTSecureSocketProxy" unavailable on X: the Developer '
    "Disk Image must be mounted — run `ios image auto` (cause: Could not start service:"
    "com.apple.instruments.remoteserver.DVTSecureSocketProxy with reason:'InvalidService'. Have you mounted the "
    "Developer Image?)",
)


NEEDS_TUNNEL = (
    'instruments service "com.apple.instruments.dtservicehub" unavailable on X: this device runs iOS 18.5.0 and needs '
    "an active tunnel — run `ios tunnel start` (cause: dial tcp [fd00::1]:0: connect: connection refused)"
)
NO_TUNNEL = Answer(
    stderr=log_line("WARN", "failed to get tunnel info", udid=UDID)
    + "\n"
    + log_line("ERROR", "processcontrol failed", err=NEEDS_TUNNEL)
    + "\n",
    exit_code=1,
)


@pytest.mark.parametrize(
    ("answer", "mode", "words"),
    [
        (NO_IMAGE, "true", "no developer image mounted"),
        (NO_IMAGE, "null", "no developer image mounted"),
        (NO_IMAGE, "false", "developer mode of .* is off"),
        (NO_TUNNEL, "false", "needs a tunnel"),
        (failed("processcontrol failed", NEEDS_TUNNEL), "true", "no developer image mounted"),
        (failed("processcontrol failed", NEEDS_TUNNEL), "false", "developer mode of .* is off"),
    ],
)
def test_the_three_reasons_for_no_developer_services_are_told_apart(
    tmp_path: Path, answer: Answer, mode: str, words: str
) -> None:
    answers = {"ps": answer, "lockdown get DeveloperModeStatus": Answer(mode)}
    with pytest.raises(EnvironmentProblem, match=words):
        program(tmp_path, answers)[0].is_running(UDID, "Runner")


@pytest.mark.parametrize(
    ("image", "kind", "words"),
    [("none", NoDeveloperServices, "no developer image"), ("image signature", DeviceLost, "did not answer in time")],
)
def test_a_developer_service_that_hangs_is_told_from_one_that_is_missing(
    tmp_path: Path, image: str, kind: type[EnvironmentProblem], words: str
) -> None:
    answers = {
        "launch": failed("launch app command failed", "Timed out waiting for response for message:1 channel:1"),
        "image list": Answer(stderr=log_line("INFO", image) + "\n"),
        "lockdown get DeveloperModeStatus": Answer("true"),
    }
    with pytest.raises(kind, match=words):
        program(tmp_path, answers)[0].launch(UDID, AppLaunch(BUNDLE))


@pytest.mark.parametrize(
    ("code", "words"),
    [(3, "does not accept the signature"), (4, "does not have this app"), (7, "is locked"), (1, "go-ios failed")],
)
def test_a_start_that_the_phone_refuses_is_explained(tmp_path: Path, code: int, words: str) -> None:
    error = (
        f"Failed starting process: {BUNDLE}, msg:The operation couldn’t be completed. (FBSOpenApplicationErrorDomain "  # noqa: RUF001
        f"error {code}.) : Failed to launch process with bundle identifier '{BUNDLE}' (Error code: 2, Domain: "
        "com.apple.dt.deviceprocesscontrolservice)"
    )
    with pytest.raises(EnvironmentProblem, match=words):
        program(tmp_path, {"launch": failed("launch app command failed", error)})[0].launch(UDID, AppLaunch(BUNDLE))


def test_a_tunnel_that_ended_is_a_lost_phone(tmp_path: Path) -> None:
    refused = failed("could not connect to RSD, host fd00::1, port 58783", "dial tcp: connect: connection refused")
    with pytest.raises(DeviceLost, match="tunnel does not answer"):
        program(tmp_path, {"ps": refused})[0].is_running(UDID, "Runner")


APPS = [
    {
        "ApplicationType": "User",
        "CFBundleDisplayName": "Edge Runner",
        "CFBundleExecutable": "Runner",
        "CFBundleIdentifier": BUNDLE,
        "CFBundleName": "Runner",
        "CFBundleVersion": "12",
        "Entitlements": {"get-task-allow": True},
    },
    {"CFBundleIdentifier": "org.example.Odd", "CFBundleVersion": 3, "CFBundleName": None},
    {"CFBundleName": "without an identifier"},
    None,
]


def test_apps_are_listed(tmp_path: Path) -> None:
    client, _ = program(tmp_path, {"apps": Answer(json.dumps(APPS))})
    assert client.list_apps(UDID) == (
        InstalledApp(BUNDLE, version="12", name="Edge Runner", executable="Runner"),
        InstalledApp("org.example.Odd", version="3"),
    )


def test_removing_an_app_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    refused = failed("failed uninstalling", "received uninstall error: APIInternalError")
    program(tmp_path / "gone", {"uninstall": refused, "apps": Answer("[]")})[0].uninstall(UDID, BUNDLE)
    client, _ = program(tmp_path / "there", {"uninstall": refused, "apps": Answer(json.dumps(APPS))})
    with pytest.raises(EnvironmentProblem, match="APIInternalError"):
        client.uninstall(UDID, BUNDLE)


@pytest.mark.parametrize(
    "answer",
    [
        failed("process not found"),
        failed("not installed"),
        Answer(stderr=log_line("INFO", "killed", bundleID=BUNDLE, pid=4711) + "\n"),
    ],
)
def test_ending_an_app_that_does_not_run_is_no_error(tmp_path: Path, answer: Answer) -> None:
    program(tmp_path, {"kill": answer})[0].kill(UDID, BUNDLE)


PROCESSES = [
    {
        "IsApplication": False,
        "Name": "launchd",
        "Pid": 1,
        "RealAppName": "launchd",
        "StartDate": "0001-01-01T00:00:00Z",
    },
    {
        "IsApplication": True,
        "Name": "Runner",
        "Pid": 4711,
        "RealAppName": "/private/var/containers/Bundle/Application/X/Runner.app/Runner",
        "StartDate": "2026-11-23T04:51:25Z",
    },
]


@pytest.mark.parametrize(
    ("stdout", "process", "runs"),
    [(json.dumps(PROCESSES), "Runner", True), (json.dumps(PROCESSES), "Other", False), ("null", "Runner", None)],
)
def test_processes_are_found_by_name(tmp_path: Path, stdout: str, process: str, runs: bool | None) -> None:
    assert program(tmp_path, {"ps": Answer(stdout)})[0].is_running(UDID, process) is runs


CHECK = {
    "BatteryCurrentCapacity": 88,
    "BatteryIsCharging": True,
    "ExternalChargeCapable": True,
    "ExternalConnected": True,
    "FullyCharged": False,
    "GasGaugeCapability": True,
    "HasBattery": True,
}
REGISTRY = {
    "InstantAmperage": -142,
    "Temperature": 2950,
    "Voltage": 4203,
    "IsCharging": True,
    "CurrentCapacity": 88,
    "DesignCapacity": 3227,
    "AppleRawCurrentCapacity": 2790,
}
NO_VALUE = panicked("interface conversion: interface {} is nil, not uint64")


@pytest.mark.parametrize(
    ("check", "registry", "battery"),
    [
        (
            Answer(json.dumps(CHECK)),
            REGISTRY,
            Battery(percent=88, plugged=True, temperature_c=29.5, voltage_mv=4203, charge_uah=2_790_000),
        ),
        (Answer(json.dumps(CHECK)), dict.fromkeys(REGISTRY, 0), Battery(percent=88, plugged=True)),
        (NO_VALUE, {**REGISTRY, "Temperature": 65535}, Battery(voltage_mv=4203, charge_uah=2_790_000)),
        (Answer(json.dumps({**CHECK, "HasBattery": False})), {}, Battery(plugged=True)),
    ],
)
def test_the_battery_is_read_in_our_units(
    tmp_path: Path, check: Answer, registry: dict[str, object], battery: Battery
) -> None:
    answers = {"batterycheck": check, "batteryregistry": Answer(json.dumps(registry))}
    assert program(tmp_path, answers)[0].read_battery(UDID) == battery


def test_a_phone_that_is_lost_has_no_unknown_battery(tmp_path: Path) -> None:
    with pytest.raises(DeviceLost):
        program(tmp_path, {"batterycheck": failed("failed getting battery diagnostics", "EOF")})[0].read_battery(UDID)


@pytest.mark.parametrize(
    ("name", "process"),
    [
        ("EdgeRunner-2026-11-23-101500.ips", "EdgeRunner"),
        ("Retired/Edge-Runner-2026-11-23-101500.000.ips", "Edge-Runner"),
        ("JetsamEvent-2026-11-23-101500.ips", "JetsamEvent"),
        ("log-aggregated.ips.beta", "log-aggregated"),
        ("", ""),
    ],
)
def test_crash_reports_name_their_process(name: str, process: str) -> None:
    assert process_of(name) == process


def test_a_pattern_fits_one_name_and_is_no_option() -> None:
    assert pattern_of("--udid=x") == r"\-\-udid\=x"
    assert pattern_of(r"a*[b]?\c d.ips") == r"a\*\[b\]\?\\c\ d.ips"


def test_crash_reports_are_listed(tmp_path: Path) -> None:
    listed = Answer('{"files":["A-2026-01-02-000000.ips","Retired/B-2026-01-02.ips"],"length":2}\n')
    assert program(tmp_path / "some", {"crash ls": listed})[0].list_crash_reports(UDID) == (
        CrashReport("A-2026-01-02-000000.ips", "A"),
        CrashReport("Retired/B-2026-01-02.ips", "B"),
    )
    nothing = Answer('{"files":null,"length":0}\n')
    assert program(tmp_path / "none", {"crash ls": nothing})[0].list_crash_reports(UDID) == ()


def test_a_crash_report_that_is_gone_is_said(tmp_path: Path) -> None:
    client, _ = program(tmp_path, {"crash cp": Answer()})
    with pytest.raises(EnvironmentProblem, match="no crash report A\\.ips any more"):
        client.read_crash_report(UDID, CrashReport("Retired/A.ips", "A"))


def test_a_restart_that_failed_is_an_error_though_go_ios_says_success(tmp_path: Path) -> None:
    refused = log_line("ERROR", "reboot failed", error="could not reboot, response: map[]")
    with pytest.raises(EnvironmentProblem, match="could not reboot"):
        program(tmp_path / "bad", {"reboot": Answer(stderr=refused + "\n")})[0].reboot(UDID)
    program(tmp_path / "good", {"reboot": Answer(stderr=log_line("INFO", "ok") + "\n")})[0].reboot(UDID)


LOG = [
    {
        "timestamp": "2026-11-23T10:15:00",
        "device": "iPhone",
        "process": "Runner(CoreML)",
        "pid": "4711",
        "level": "Notice",
        "message": "loaded",
    },
    {"msg": "odd \u0000 line", "error": "failed to parse syslog message: odd"},
    {
        "timestamp": "2026-11-23T10:15:01",
        "device": "iPhone",
        "process": "kernel",
        "pid": "0",
        "level": "Error",
        "message": "x",
    },
]


def test_the_log_is_read_until_the_context_ends(tmp_path: Path) -> None:
    lines = "".join(f"{json.dumps(entry)}\n" for entry in LOG)
    client, _ = program(tmp_path, {"syslog": Answer(f"no json\n{lines}[1]\n", sleep_s=600)})
    with client.open_log(UDID) as log:
        wait_until(lambda: len(log.lines()) == 3)
        assert log.lines("Runner") == ("2026-11-23T10:15:00 Runner(CoreML)[4711] <Notice>: loaded",)
    assert len(log.lines()) == 3


def case(name: str, status: str) -> dict[str, object]:
    return {"ClassName": "Tests", "MethodName": name, "Status": status, "Err": {}, "Duration": 1, "Attachments": None}


SUITES = [
    {"Name": "All tests", "TestCases": []},
    {
        "Name": "Tests",
        "TestCases": [
            case("a", "passed"),
            case("b", "failed"),
            case("c", "stalled"),
            case("d", ""),
            case("e", "skipped"),
        ],
    },
]
START = XCTestStart(BUNDLE, BUNDLE, "Tests.xctest", {"A": "1"})


def test_tests_are_judged_by_their_suites(tmp_path: Path) -> None:
    unfinished = log_line("INFO", "Failed running Xcuitest", error="lost connection to testmanagerd. the test-runner")
    client, written = program(tmp_path, {"runtest": Answer(json.dumps(SUITES), unfinished + "\n")})
    assert client.run_tests(UDID, START) == XCTestEnd(
        log="",
        failed=("Tests/b", "Tests/c", "Tests/d"),
        passed=("Tests/a",),
        problem="lost connection to testmanagerd. the test-runner",
    )
    (words,) = written.calls
    assert words[:5] == [
        *("runtest", "--xctest", f"--test-runner-bundle-id={BUNDLE}", "--xctest-config=Tests.xctest", "--env=A=1")
    ]


def test_tests_that_drive_another_app_are_no_unit_tests(tmp_path: Path) -> None:
    client, written = program(tmp_path, {"runtest": Answer("null")})
    assert client.run_tests(UDID, XCTestStart(BUNDLE, "org.example.Tests", "Tests.xctest")) == XCTestEnd("")
    assert written.calls[0][1:3] == [f"--bundle-id={BUNDLE}", "--test-runner-bundle-id=org.example.Tests"]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (f"Did not find test app for '{BUNDLE}' on device. Is it installed?", "does not have this app"),
        ("dtx: EOF", "lost"),
    ],
)
def test_tests_that_did_not_start_are_an_error(tmp_path: Path, reason: str, words: str) -> None:
    unfinished = log_line("INFO", "Failed running Xcuitest", error=reason)
    client, _ = program(tmp_path, {"runtest": Answer("[]", unfinished + "\n")})
    with pytest.raises(EnvironmentProblem, match=words):
        client.run_tests(UDID, START)


def test_tests_whose_time_is_over_are_ended(tmp_path: Path) -> None:
    client, written = program(tmp_path, {"runtest": Answer(sleep_s=600), "kill": failed("process not found")})
    assert client.run_tests(UDID, XCTestStart(BUNDLE, BUNDLE, "T.xctest", timeout_s=0.5)) == XCTestEnd(
        "", timed_out=True
    )
    assert written.calls[-1][:2] == ["kill", BUNDLE]


@pytest.mark.parametrize("name", ["../T.xctest", "T", "a\0.xctest", "\x1b.xctest"])
def test_names_of_tests_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(EnvironmentProblem, match="no name of a test bundle"):
        program(tmp_path, {})[0].run_tests(UDID, XCTestStart(BUNDLE, BUNDLE, name))


def test_the_diagnosis_names_the_program_and_usbmuxd(tmp_path: Path) -> None:
    client, written = program(tmp_path / "good", {"list": Answer('{"deviceList":["a"]}')})
    assert [(finding.name, finding.ok, finding.found) for finding in client.diagnose()] == [
        ("go-ios", True, f"{written.path} (1.2.0)"),
        ("usbmuxd", True, "lists 1 phone"),
    ]
    dial = "dial unix /var/run/usbmuxd: connect: no such file or directory"
    client, _ = program(tmp_path / "bad", {"list": failed("failed getting device list", dial)})
    assert [finding.ok for finding in client.diagnose()] == [True, False]
    (finding,) = GoIos(tmp_path / "nowhere").diagnose()
    assert (finding.ok, "npm install" in finding.remedy) == (False, True)
