"""Finding go-ios, running it, and what its failures become: on recorded output."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import BenchmarkUnsupported, DeviceLost, EnvironmentProblem, OutOfSpace, UsageError
from platforms.ios.link.client import AppLaunch
from platforms.ios.link.errors import PhoneNotPaired
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.link.go_ios.files import parse_tree
from platforms.ios.link.go_ios.program import GoIosProgram
from tests.platforms.ios.link.recorded import Answer, failed, log_line, panicked, write_program

UDID = "00008110-001A2B3C4D5E6F70"
BUNDLE = "org.example.Runner"


def client(folder: Path, **answers: Answer) -> GoIos:
    return GoIos(write_program(folder, {words.replace("_", " "): answers[words] for words in answers}).path)


@pytest.mark.parametrize("version", ["1.2.0", "1.3.2", "v1.10.0", "1.4.0-canary", "local-build"])
def test_versions_from_1_2_0_are_supported(tmp_path: Path, version: str) -> None:
    program = write_program(tmp_path, {}, version=f'{{"version":"{version}"}}')
    assert GoIosProgram(program.path).locate() == program.path


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ('{"version":"1.1.9"}', "1.2.0 or later"),
        ('{"version":"2.0.0"}', "below 2"),
        ('{"version":"\\u001b[31m"}', "1.2.0 or later"),
        ("ionic 7.2.0", "is not go-ios"),
        ('["1.2.0"]', "is not go-ios"),
        ("", "is not go-ios"),
    ],
)
def test_other_programs_and_versions_are_refused(tmp_path: Path, version: str, reason: str) -> None:
    program = write_program(tmp_path, {}, version=version)
    with pytest.raises(EnvironmentProblem, match=reason) as refused:
        GoIosProgram(program.path).locate()
    assert "npm install -g go-ios" in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_a_program_in_path_that_is_not_go_ios_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_GO_IOS", raising=False)
    write_program(tmp_path / "first", {}, version="some other ios")
    write_program(tmp_path / "second", {}).path.rename(tmp_path / "second/go-ios")
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}:/bin")
    assert GoIosProgram().locate() == tmp_path / "second/go-ios"


def test_the_variable_names_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_GO_IOS", str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentProblem, match="nowhere"):
        GoIosProgram().locate()
    monkeypatch.setenv("HARNESS_GO_IOS", str(write_program(tmp_path, {}).path))
    assert GoIosProgram().locate() == tmp_path / "ios"


def test_every_call_names_its_phone_and_the_tunnels(tmp_path: Path) -> None:
    program = write_program(tmp_path, {"kill": failed("process not found")})
    GoIos(program.path, tunnel="[::1]:28200").kill(UDID, BUNDLE)
    (words,) = program.calls
    assert words == ["kill", BUNDLE, f"--udid={UDID}", "--tunnel-info-host=::1", "--tunnel-info-port=28200"]


@pytest.mark.parametrize("address", ["28100", "host:", "host:port", ":28100"])
def test_an_address_of_tunnels_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        GoIos(tunnel=address)


FAILURES = [
    (
        failed(f"Device not found: {UDID}", "dial unix /var/run/usbmuxd: connect: no such file or directory"),
        EnvironmentProblem,
        "apt install usbmuxd",
    ),
    (
        failed(f"Device not found: {UDID}", f"Device '{UDID}' not found. Is it attached to the machine?"),
        DeviceLost,
        "check the cable",
    ),
    (panicked("Failed decoding pair record plist "), PhoneNotPaired, "does not trust this computer"),
    (
        failed("x", "StartSession failed: {} error: failed to start new lockdown session: InvalidHostID"),
        PhoneNotPaired,
        "does not trust this computer",
    ),
    (
        failed("x", "Could not start service:com.apple.afc with reason:'PasswordProtected'. Have you mounted"),
        PhoneNotPaired,
        "is locked",
    ),
    (
        failed("fsync: x", "ConnectToShimService: Cannot connect to X, missing tunnel address and RSD port.  To start"),
        EnvironmentProblem,
        "ios tunnel start --userspace",
    ),
    (failed("x", "error writing data: afc error code: 18"), OutOfSpace, "no space left"),
    (failed("failed getting values", "EOF"), DeviceLost, "lost"),
    (failed("x", "read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"), DeviceLost, "lost"),
    (panicked("runtime error: index out of range"), EnvironmentProblem, "index out of range"),
    (Answer(exit_code=1), EnvironmentProblem, "exit status 1"),
    (Answer(stderr="Usage:\n  ios --version\n", exit_code=1), EnvironmentProblem, "go-ios failed"),
    (failed("reboot failed", "\x1b[2J" + "x" * 10_000, exit_code=0), EnvironmentProblem, "reboot failed"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), FAILURES)
def test_failures_become_errors_in_words(
    tmp_path: Path, answer: Answer, kind: type[EnvironmentProblem], words: str
) -> None:
    with pytest.raises(EnvironmentProblem) as raised:
        client(tmp_path, apps=answer).list_apps(UDID)
    assert type(raised.value) is kind or (kind is not DeviceLost and isinstance(raised.value, kind))
    assert words in str(raised.value)
    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_a_call_that_hangs_is_a_lost_phone(tmp_path: Path) -> None:
    program = GoIosProgram(write_program(tmp_path, {"apps": Answer(sleep_s=600)}).path)
    with pytest.raises(DeviceLost, match=f"{UDID} did not answer in time while apps were listed"):
        program.call(UDID, "apps", doing="apps were listed", timeout_s=0.3)


@pytest.mark.parametrize("text", ["", "null", "{", '{"deviceList":"x"}', "[1]", '{"deviceList":[3]}'])
def test_broken_answers_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be read while phones were listed"):
        client(tmp_path, list=Answer(text)).list_phones()


def test_phones_are_listed_once(tmp_path: Path) -> None:
    listed = client(tmp_path, list=Answer('{"deviceList":["a","b","a",""]}')).list_phones()
    assert [phone.udid for phone in listed] == ["a", "b"]
    assert client(tmp_path, list=Answer('{"deviceList":null}')).list_phones() == ()


def test_arguments_and_variables_reach_the_program_unchanged(tmp_path: Path) -> None:
    launched = log_line("INFO", "Process launched", pid=4711)
    program = write_program(tmp_path, {"launch": Answer(stderr=f"{launched}\n")})
    launch = AppLaunch(BUNDLE, ("--udid=other", "a b\n", "", "ü'$(x)"), {"A": "b c", "B": ""})
    assert GoIos(program.path).launch(UDID, launch) == 4711
    assert program.calls == [
        [
            *("launch", BUNDLE, "--kill-existing", "--arg=--udid=other", "--arg=a b\n", "--arg=", "--arg=ü'$(x)"),
            *("--env=A=b c", "--env=B=", f"--udid={UDID}"),
        ]
    ]


@pytest.mark.parametrize(
    "launch",
    [
        AppLaunch(BUNDLE, env={"A": "b=c"}),
        AppLaunch(BUNDLE, env={"": "x"}),
        AppLaunch(BUNDLE, env={"A=B": "x"}),
        AppLaunch(BUNDLE, env={"A": "\0"}),
        AppLaunch(BUNDLE, ("\0",)),
        AppLaunch(BUNDLE, ("\udc80",)),
    ],
)
def test_what_go_ios_would_change_is_refused(tmp_path: Path, launch: AppLaunch) -> None:
    with pytest.raises(BenchmarkUnsupported, match="cannot"):
        client(tmp_path, launch=Answer()).launch(UDID, launch)


@pytest.mark.parametrize("bundle", ["", "-x", "--udid=y", "a/b", "a b", "a\n", "x" * 300, "\x1b[31m"])
def test_bundles_that_are_none_are_refused(tmp_path: Path, bundle: str) -> None:
    with pytest.raises(EnvironmentProblem, match="no bundle identifier"):
        client(tmp_path).kill(UDID, bundle)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a\0b", "\udc80"])
def test_paths_outside_the_container_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(EnvironmentProblem, match="no path in the container"):
        client(tmp_path).remove(UDID, BUNDLE, path)


@pytest.mark.parametrize("udid", ["", "-x", "a b", "../x", "x" * 65])
def test_a_udid_that_is_none_is_refused(tmp_path: Path, udid: str) -> None:
    with pytest.raises(EnvironmentProblem, match="is no UDID"):
        client(tmp_path).list_apps(udid)


def test_a_missing_file_is_not_found_and_leaves_nothing(tmp_path: Path) -> None:
    missing = failed("fsync: pull failed", "error getting file info: afc error code: 8")
    with pytest.raises(FileNotFoundError, match="Documents/x"):
        client(tmp_path, fsync=missing).pull(UDID, BUNDLE, "Documents/x", tmp_path / "here/x")
    assert list((tmp_path / "here").iterdir()) == []


def test_a_failed_copy_leaves_nothing(tmp_path: Path) -> None:
    lost = failed("fsync: pull failed", "error reading data: error reading header: EOF")
    with pytest.raises(DeviceLost):
        client(tmp_path, fsync=lost).pull(UDID, BUNDLE, "Documents/x", tmp_path / "here/x")
    assert list((tmp_path / "here").iterdir()) == []


def test_a_missing_folder_is_made_and_the_file_pushed_again(tmp_path: Path) -> None:
    missing = failed("fsync: push failed", "error opening file: afc error code: 8")
    program = write_program(tmp_path / "bin", {"fsync": missing, f"fsync --app={BUNDLE} mkdir": Answer()})
    local = tmp_path / "local"
    local.write_text("x")
    with pytest.raises(EnvironmentProblem, match="afc error code: 8"):
        GoIos(program.path).push(UDID, BUNDLE, local, "Documents/a/b")
    assert [words[2] for words in program.calls] == ["push", "mkdir", "push"]
    assert program.calls[1][3] == "--path=Documents/a"


TREE = """\
|  |-edge-harness/
|  |  |-1/
|  |  |  |-a b.txt
|  |  |-2/
|  |  |  |-x
|  |  |  |  |-y
|  |  |-three
|  |-|-odd
"""


def test_the_tree_becomes_paths() -> None:
    assert parse_tree(TREE.replace("|  |  |  |  |-y\n", "")) == (
        "edge-harness/1/a b.txt",
        "edge-harness/2/x",
        "edge-harness/three",
        "|-odd",
    )
    assert parse_tree("") == ()
    assert parse_tree("garbage\n\n") == ()
    assert parse_tree("|  |-a\nb\n|  |-c\n") == ("a\nb", "c")


def test_a_folder_that_is_missing_has_no_files(tmp_path: Path) -> None:
    missing = failed("fsync: tree view failed", "error listing afc dir: afc error code: 8")
    assert client(tmp_path, fsync=missing).list_files(UDID, BUNDLE, "Documents/none") == ()
