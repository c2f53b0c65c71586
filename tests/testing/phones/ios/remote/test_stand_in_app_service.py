from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.model import IPhoneModel
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.services import list_services
from harness.testing.phones.ios.remote.xpc import Unsigned, XpcDictionary, XpcObject
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection
from harness.testing.phones.ios.usbmux.pairing import Pairings, make_key
from harness.testing.phones.ios.usbmux.services import Service
from tests.testing.phones.ios.remote.xpc_client import XpcClient

BUNDLE = "org.example.app"
_PREFIX = "com.apple.coredevice.feature."


@pytest.fixture(scope="module")
def pairings(tmp_path_factory: pytest.TempPathFactory) -> Pairings:
    return Pairings(make_key(), tmp_path_factory.mktemp("keys"))


@pytest.fixture
def phone(tmp_path: Path, pairings: Pairings) -> Iterator[StandInIPhone]:
    phone = StandInIPhone(IPhoneModel("U", "phone", version="18.5"), tmp_path / "phone", pairings)
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\\necho "$@" "$GREETING"\\nexec sleep 1000\\n'.replace("\\n", "\n"))
    phone.install(make_package(tmp_path / "package", program, bundle=BUNDLE, name="App"))
    yield phone
    phone.process_table.kill_all()


@pytest.fixture
def services() -> dict[str, Service]:
    return {entry.name: entry.serve for entry in list_services()}


@contextmanager
def connect(service: Service, phone: StandInIPhone) -> Iterator[socket.socket]:
    near, far = socket.socketpair()
    near.settimeout(60)
    connection = ServiceConnection(far, phone.cable)

    def serve() -> None:
        with contextlib.suppress(ConnectionEnded):
            service(connection, phone)
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with near:
        yield near
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def client(phone: StandInIPhone, services: dict[str, Service]) -> Iterator[XpcClient]:
    with connect(services["com.apple.coredevice.appservice"], phone) as connection:
        client = XpcClient(connection)
        client.open()
        yield client


def ask(client: XpcClient, feature: str, given: XpcObject) -> XpcDictionary:
    request: XpcDictionary = {
        "CoreDevice.featureIdentifier": _PREFIX + feature,
        "CoreDevice.input": given,
        "CoreDevice.invocationIdentifier": "7",
    }
    body = client.request(request).body
    assert body is not None
    assert body["CoreDevice.invocationIdentifier"] == "7"
    return body


def output(body: XpcDictionary) -> XpcDictionary:
    members = body["CoreDevice.output"]
    assert isinstance(members, Mapping)
    return members


def refusal(body: XpcDictionary) -> str:
    assert "CoreDevice.output" not in body
    error = body["CoreDevice.error"]
    assert isinstance(error, Mapping)
    assert isinstance(error["userInfo"], Mapping)
    return str(error["userInfo"]["NSLocalizedDescription"])


def launch_input(
    *, bundle: XpcObject = BUNDLE, arguments: XpcObject = None, env: XpcObject = None, stream: UUID | None = None
) -> XpcDictionary:
    return {
        "applicationSpecifier": {"bundleIdentifier": {"_0": bundle}},
        "options": {"arguments": arguments, "environmentVariables": env, "workingDirectory": None},
        "standardIOIdentifiers": {} if stream is None else {"standardInput": stream, "standardOutput": stream},
    }


def pid_of(process: XpcObject) -> int:
    assert isinstance(process, Mapping)
    assert isinstance(process["processIdentifier"], int)
    return process["processIdentifier"]


def test_an_app_gets_its_arguments_and_environment_and_its_output_goes_to_the_client(
    phone: StandInIPhone, services: dict[str, Service], client: XpcClient
) -> None:
    with connect(services["com.apple.coredevice.openstdiosocket"], phone) as stream:
        given = launch_input(arguments=["a b", 'quo"te'], env={"GREETING": "hello"}, stream=UUID(bytes=stream.recv(16)))
        pid = pid_of(output(ask(client, "launchapplication", given))["processToken"])
        with stream.makefile() as lines:
            assert lines.readline() == 'a b quo"te hello\n'
            assert (
                output(ask(client, "sendsignaltoprocess", {"process": {"processIdentifier": pid}, "signal": 9})) == {}
            )
            assert lines.readline() == ""


def test_processes_are_listed_while_they_run(phone: StandInIPhone, client: XpcClient) -> None:
    assert output(ask(client, "listprocesses", {}))["processTokens"] == []
    pid = pid_of(output(ask(client, "launchapplication", launch_input()))["processToken"])
    (process,) = phone.process_table.list_running()
    listed = output(ask(client, "listprocesses", {}))["processTokens"]
    assert listed == [{"executableURL": {"relative": (process.app.folder / "App").as_uri()}, "processIdentifier": pid}]
    ask(client, "sendsignaltoprocess", {"process": {"processIdentifier": pid}, "signal": int(signal.SIGKILL)})
    assert process.wait()
    assert output(ask(client, "listprocesses", {}))["processTokens"] == []


def test_an_app_that_is_started_again_replaces_the_one_that_runs(phone: StandInIPhone, client: XpcClient) -> None:
    pids = [pid_of(output(ask(client, "launchapplication", launch_input()))["processToken"]) for _ in range(2)]
    assert [process.pid for process in phone.process_table.list_running()] == pids[1:]


def test_output_for_a_connection_that_has_ended_is_dropped(client: XpcClient) -> None:
    assert pid_of(output(ask(client, "launchapplication", launch_input(stream=uuid4())))["processToken"])


@pytest.mark.parametrize(
    ("feature", "given", "words"),
    [
        ("launchapplication", launch_input(bundle="org.example.absent"), "no app 'org.example.absent'"),
        ("launchapplication", launch_input(bundle="../../etc"), "no app"),
        ("launchapplication", launch_input(bundle=None), "is no text"),
        ("launchapplication", launch_input(arguments="a"), "no list of texts"),
        ("launchapplication", launch_input(arguments=["a", 1]), "no list of texts"),
        ("launchapplication", launch_input(env=["a"]), "no dictionary of texts"),
        ("launchapplication", launch_input(env={"a": 1}), "no dictionary of texts"),
        ("launchapplication", {}, "is no text"),
        ("launchapplication", [1], "is no text"),
        ("sendsignaltoprocess", {"process": {"processIdentifier": 1}, "signal": 9}, "no process 1"),
        ("sendsignaltoprocess", {"process": {"processIdentifier": -1}, "signal": 9}, "no process -1"),
        ("sendsignaltoprocess", {"process": {"processIdentifier": Unsigned(2**63)}, "signal": 9}, "no process"),
        ("sendsignaltoprocess", {"process": {"processIdentifier": True}, "signal": 9}, "is no integer"),
        ("eraseeverything", {}, "not supported"),
    ],
)
def test_what_cannot_be_done_is_refused_and_the_connection_goes_on(
    client: XpcClient, feature: str, given: XpcObject, words: str
) -> None:
    assert words in refusal(ask(client, feature, given))
    assert output(ask(client, "listprocesses", {}))["processTokens"] == []


def test_a_program_that_cannot_be_started_is_refused(phone: StandInIPhone, client: XpcClient) -> None:
    (phone.apps[BUNDLE].folder / "App").unlink()
    assert BUNDLE in refusal(ask(client, "launchapplication", launch_input()))


def test_a_locked_phone_starts_no_app(phone: StandInIPhone, client: XpcClient) -> None:
    phone.lock()
    assert "locked" in refusal(ask(client, "launchapplication", launch_input()))


def test_a_restart_ends_the_connection(client: XpcClient) -> None:
    with pytest.raises((EOFError, ConnectionError)):
        ask(client, "rebootdevice", {"rebootStyle": {"full": {}}})
