"""Link to the real adbd and the real adb server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.core.errors import DeviceLost, EnvironmentProblem, UsageError
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from tests.processes import wait_until

pytestmark = pytest.mark.slow

TMP = "/data/local/tmp"


@contextmanager
def soon(act: object, after_s: float = 0.5) -> Iterator[None]:
    assert callable(act)
    timer = threading.Timer(after_s, act)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.fixture
def alone(broken_lab: PhoneLab) -> tuple[Phone, StandInPhone]:
    stand_in = broken_lab.phones[0]
    return Phone(AdbServer(broken_lab.server), stand_in.serial), stand_in


def test_exit_codes_and_streams_are_separate(phone: Phone) -> None:
    result = phone.sh('echo "$1"; echo err >&2; exit 3 # a comment', "a 'b' $c\n;d")
    assert (result.exit_code, result.stdout, result.stderr) == (3, "a 'b' $c\n;d\n", "err\n")


@pytest.mark.parametrize("code", [0, 127])
def test_the_exit_code_is_that_of_the_script_and_not_of_timeout(rooted_lab: PhoneLab, code: int) -> None:
    phone = Phone(AdbServer(rooted_lab.server), rooted_lab.phones[0].serial)
    careless = f'#!/system/bin/sh\nshift 3; "$@"; exit {code}\n'  # as `timeout` when a script ends too soon for it
    put = 'mv "$1" "$1.away"; cat >"$1"; chmod 755 "$1"'
    phone.sh(put, "/system/bin/timeout", stdin=careless.encode())
    try:
        results = phone.sh("true"), phone.sh("echo -n out; echo -n err >&2; exit 3")
    finally:
        phone.sh('mv -f "$1.away" "$1"', "/system/bin/timeout")
    assert [(result.exit_code, result.stdout, result.stderr) for result in results] == [(0, "", ""), (3, "out", "err")]


def test_scripts_read_arguments_and_standard_input(phone: Phone) -> None:
    given = bytes(range(256)) * 1000
    assert phone.sh("wc -c", stdin=given).stdout.strip() == str(len(given))


def test_a_script_that_writes_without_end_is_ended_in_time(phone: Phone) -> None:
    with pytest.raises(EnvironmentProblem, match="more than 1 s"):  # else we would have given up, in other words
        phone.sh("while :; do echo x; sleep 0.01; done", timeout_s=1.0)


def test_a_command_too_long_for_adb_is_refused(phone: Phone) -> None:
    with pytest.raises(EnvironmentProblem, match="bytes cannot be sent"):
        phone.sh("true", "x" * 70_000)


def test_an_unplug_never_looks_like_short_output(alone: tuple[Phone, StandInPhone]) -> None:
    phone, stand_in = alone
    with soon(stand_in.unplug), pytest.raises(DeviceLost):
        phone.sh("echo begun; sleep 60", timeout_s=90.0)


def test_a_hung_phone_is_noticed(alone: tuple[Phone, StandInPhone]) -> None:
    phone, stand_in = alone
    stand_in.freeze()
    with pytest.raises(DeviceLost, match="did not answer"):
        phone.sh("echo hi", timeout_s=1.0)


def test_a_phone_that_does_not_trust_this_computer_is_reported_with_the_remedy(
    alone: tuple[Phone, StandInPhone],
) -> None:
    phone, stand_in = alone
    stand_in.unauthorise()
    wait_until(lambda: phone.server.state(phone.serial) == "unauthorized")
    with pytest.raises(EnvironmentProblem, match="trust") as caught:
        phone.sh("echo hi")
    assert "Allow USB debugging" in str(caught.value)


def answers(phone: Phone) -> bool:
    try:
        return phone.sh("echo back").stdout == "back\n"
    except DeviceLost:
        return False


def test_a_server_that_was_killed_is_started_again(broken_lab: PhoneLab) -> None:
    server = AdbServer(broken_lab.server)
    phone = Phone(server, broken_lab.phones[0].serial)
    with soon(broken_lab.kill_server), pytest.raises(DeviceLost):
        phone.sh("sleep 60", timeout_s=90.0)
    try:
        assert server.list_phones() == ()
        server.connect(phone.serial)
        wait_until(lambda: answers(phone))  # a new server may see it come and go before it stays
    finally:
        broken_lab.kill_server()


def test_a_server_that_ends_while_it_is_asked_is_asked_again() -> None:
    """As one that was killed does: the port still answers, and the conversation breaks."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for reply in (None, None, None, b"OKAY0000"):  # a look whether it is there comes before each request
                connection, _ = listening.accept()
                with connection:
                    if reply is not None and connection.recv(16):
                        connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        assert AdbServer(f"127.0.0.1:{listening.getsockname()[1]}").list_phones() == ()
        thread.join()


def test_a_server_elsewhere_is_not_started() -> None:
    with pytest.raises(EnvironmentProblem, match="no adb server"):
        AdbServer("127.0.0.2:1").list_phones()


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, "127.0.0.1:5037"),
        ({"ANDROID_ADB_SERVER_PORT": "5038"}, "127.0.0.1:5038"),
        ({"ANDROID_ADB_SERVER_PORT": "", "ADB_SERVER_SOCKET": ""}, "127.0.0.1:5037"),
        ({"ANDROID_ADB_SERVER_ADDRESS": "lab", "ANDROID_ADB_SERVER_PORT": "5038"}, "lab:5038"),
        ({"ADB_SERVER_SOCKET": "tcp:5039", "ANDROID_ADB_SERVER_PORT": "5038"}, "127.0.0.1:5039"),
        ({"ADB_SERVER_SOCKET": "tcp:host.docker.internal:5037"}, "host.docker.internal:5037"),
        ({"ADB_SERVER_SOCKET": "tcp:[fe80::1]:5037"}, "[fe80::1]:5037"),
    ],
)
def test_the_server_is_that_of_adb_itself(
    variables: Mapping[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "ANDROID_ADB_SERVER_PORT"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    assert AdbServer().name == name


@pytest.mark.parametrize("address", ["localfilesystem:/run/adb", "tcp:lab", "tcp:lab:0", "5037"])
def test_a_server_that_cannot_be_used_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADB_SERVER_SOCKET", address)
    with pytest.raises(UsageError, match="no address of an adb server"):
        AdbServer()


@pytest.mark.parametrize("port", ["", "x"])
def test_the_platform_is_imported_whatever_port_the_environment_names(port: str) -> None:
    code = "from platforms.android.link import adb; adb.adb_program()"
    environment = {**os.environ, "ANDROID_ADB_SERVER_PORT": port, "PATH": "/nowhere"}
    subprocess.run((sys.executable, "-c", code), env=environment, check=True)


def test_a_server_is_reached_by_ipv6() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listening:

        def answer() -> None:
            for reply in (None, b"OKAY000dSERIAL\tdevice"):  # a look whether it is there comes first
                connection, _ = listening.accept()
                with connection:
                    if reply is not None and connection.recv(16):
                        connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        (listed,) = AdbServer(f"[::1]:{listening.getsockname()[1]}").list_phones()
        assert listed.serial == "SERIAL"
        thread.join()


@pytest.mark.parametrize("address", ["", "nowhere", "host:", ":5037", "host:0", "host:99999", "host:x"])
def test_an_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        AdbServer(address)


def test_files_arrive_as_they_were_sent(phone: Phone, tmp_path: Path) -> None:
    sent, got = tmp_path / "sent", tmp_path / "deep" / "got"
    sent.write_bytes(bytes(range(256)) * 5000)
    phone.push(sent, f"{TMP}/a file")
    phone.pull(f"{TMP}/a file", got)
    assert got.read_bytes() == sent.read_bytes()
    phone.sh('rm "$1"', f"{TMP}/a file")


def test_a_refused_push_reports_the_reason(phone: Phone, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match="refuses"):
        phone.push(tmp_path / "file", "/proc/no/file")


def test_a_damaged_transfer_is_noticed_by_its_hash(
    phone: Phone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr(phone, "send", lambda files: phone.sh('echo y >"$1"', files[0][1]))
    with pytest.raises(EnvironmentProblem, match="as it was sent"):
        phone.push(tmp_path / "file", f"{TMP}/other")
    phone.sh('rm "$1"', f"{TMP}/other")


@pytest.mark.parametrize("remote", [f"{TMP}/missing", TMP])
def test_pulling_something_other_than_a_file_leaves_nothing(phone: Phone, tmp_path: Path, remote: str) -> None:
    with pytest.raises(FileNotFoundError):
        phone.pull(remote, tmp_path / "got")
    assert list(tmp_path.iterdir()) == []


def test_a_cut_while_pulling_leaves_nothing(alone: tuple[Phone, StandInPhone], tmp_path: Path) -> None:
    phone, stand_in = alone
    phone.sh('head -c 3000000 /dev/zero >"$1"', f"{TMP}/zeros")
    stand_in.cut_connection_after(1_000_000)
    with pytest.raises(DeviceLost):
        phone.pull(f"{TMP}/zeros", tmp_path / "got")
    assert list(tmp_path.iterdir()) == []


def test_a_cut_while_pushing_is_noticed(alone: tuple[Phone, StandInPhone], tmp_path: Path) -> None:
    phone, stand_in = alone
    (tmp_path / "zeros").write_bytes(bytes(3_000_000))
    stand_in.cut_connection_after(1_000_000)
    with pytest.raises(DeviceLost):
        phone.push(tmp_path / "zeros", f"{TMP}/zeros")


def test_a_full_phone_is_reported_with_the_remedy(alone: tuple[Phone, StandInPhone], tmp_path: Path) -> None:
    phone, stand_in = alone
    (tmp_path / "zeros").write_bytes(bytes(3_000_000))
    stand_in.fill(1_000_000)
    with pytest.raises(EnvironmentProblem, match="no space left") as caught:
        phone.push(tmp_path / "zeros", f"{TMP}/zeros")
    assert "--android-dir" in str(caught.value)


def test_a_file_that_cannot_be_written_here_is_not_the_phone_s_fault(phone: Phone) -> None:
    with pytest.raises((EnvironmentProblem, OSError)) as caught:
        phone.pull("/system/bin/sh", Path("/sys/got"))
    assert not isinstance(caught.value, DeviceLost)
