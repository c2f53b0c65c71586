from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.remote.tunnels import PhoneTunnel
from tests.iphones import GoIosCaller

BUNDLE = "org.example.app"
LIMIT_S = 300.0


@pytest.fixture
def package(tmp_path: Path) -> Path:
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n" + b"#" * 300_000)
    return make_package(tmp_path / "package", program, bundle=BUNDLE, name="App")


def tunnel_of(ios: GoIosCaller) -> PhoneTunnel:
    assert ios.lab.tunnels is not None
    return ios.lab.tunnels.tunnels.find(ios.phone.model.udid)


def through_tunnel(ios: GoIosCaller) -> list[str]:
    """Return the words with which go-ios takes the tunnel for commands that else take lockdown."""
    tunnel = tunnel_of(ios).describe()
    words = [f"--address={tunnel['address']}", f"--rsd-port={tunnel['rsdPort']}"]
    return [*words, f"--userspace-port={tunnel['userspaceTunPort']}"] if tunnel["userspaceTun"] else words


def test_go_ios_lists_the_tunnels_of_all_phones(new_ios: GoIosCaller) -> None:
    tunnels = json.loads(new_ios.succeed("tunnel", "ls"))
    assert [tunnel["udid"] for tunnel in tunnels] == [phone.model.udid for phone in new_ios.lab.phones]


def test_go_ios_lists_the_services_behind_a_tunnel(new_ios: GoIosCaller) -> None:
    assert "com.apple.mobile.installation_proxy.shim.remote" in json.loads(new_ios.succeed("rsd", "ls"))


@pytest.mark.slow
def test_properties_apps_files_and_crash_reports_take_no_tunnel(
    new_ios: GoIosCaller, package: Path, tmp_path: Path
) -> None:
    tunnel_of(new_ios).stop()
    phone = new_ios.phone
    assert json.loads(new_ios.succeed("info"))["ProductVersion"] == phone.model.version
    new_ios.succeed("install", f"--path={package}")
    assert [app["CFBundleIdentifier"] for app in json.loads(new_ios.succeed("apps"))] == [BUNDLE]
    new_ios.succeed("fsync", f"--app={BUNDLE}", "push", f"--srcPath={package}", "--dstPath=Documents/there")
    new_ios.succeed("fsync", f"--app={BUNDLE}", "pull", "--srcPath=Documents/there", f"--dstPath={tmp_path / 'back'}")
    assert (tmp_path / "back/there").read_bytes() == package.read_bytes()
    (phone.crash_reports / "App-2026-11-23-101500.ips").write_text("{}")
    assert json.loads(new_ios.succeed("crash", "ls"))["files"] == ["App-2026-11-23-101500.ips"]
    new_ios.succeed("uninstall", BUNDLE)
    assert not phone.apps


def test_an_app_is_installed_through_a_tunnel_that_is_named(new_ios: GoIosCaller, package: Path) -> None:
    new_ios.succeed("install", f"--path={package}", *through_tunnel(new_ios))
    assert BUNDLE in new_ios.phone.apps
    tunnel_of(new_ios).stop()
    new_ios.fail("install", f"--path={package}", *through_tunnel(new_ios))


@contextmanager
def follow_log(ios: GoIosCaller) -> Iterator[subprocess.Popen[str]]:
    command = ios.command("syslog")
    environment = {**os.environ, **command.env}
    with subprocess.Popen(
        command.argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_message(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return str(json.loads(process.stdout.readline())["msg"])


def test_the_log_arrives_through_the_tunnel_until_it_ends(new_ios: GoIosCaller) -> None:
    with follow_log(new_ios) as process:
        assert "a client listens" in read_message(process)
        new_ios.phone.write_log("App", 77, "what it says")
        assert "App[77] <Notice>: what it says" in read_message(process)
        tunnel_of(new_ios).drop()
        assert process.wait(LIMIT_S) != 0


def test_the_log_ends_with_the_cable(new_ios: GoIosCaller) -> None:
    with follow_log(new_ios) as process:
        assert "a client listens" in read_message(process)
        new_ios.phone.unplug()
        assert process.wait(LIMIT_S) != 0
    assert [tunnel["udid"] for tunnel in json.loads(new_ios.succeed("tunnel", "ls"))] == [
        new_ios.lab.phones[1].model.udid
    ]


def test_a_phone_without_a_tunnel_is_told(new_ios: GoIosCaller) -> None:
    tunnel_of(new_ios).stop()
    assert "failed to get tunnel info" in new_ios.fail("rsd", "ls")


def test_a_tunnel_is_ended_and_comes_back(new_ios: GoIosCaller) -> None:
    udid = new_ios.phone.model.udid
    assert json.loads(new_ios.succeed("tunnel", "stop"))["udid"] == udid
    assert json.loads(new_ios.succeed("tunnel", "refresh"))["udid"] == udid


def test_an_app_is_started_listed_and_killed_through_the_tunnel(new_ios: GoIosCaller, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@" "$GREETING" >"$HOME/Documents/words"\nexec sleep 1000\n')
    app = new_ios.phone.install(make_package(tmp_path / "package", program, bundle=BUNDLE, name="App"))
    new_ios.succeed("launch", BUNDLE, "--arg=a b", '--arg=it\'s "c"', "--env=GREETING=hello you")
    (process,) = new_ios.phone.process_table.list_running()
    assert ("App", process.pid) in {(entry["Name"], entry["Pid"]) for entry in json.loads(new_ios.succeed("ps"))}
    new_ios.succeed("kill", BUNDLE)
    assert process.wait()
    assert not new_ios.phone.process_table.list_running()
    assert (app.container / "Documents/words").read_text() == 'a b|it\'s "c"|hello you|'


def test_no_app_is_started_without_a_tunnel(new_ios: GoIosCaller, package: Path) -> None:
    new_ios.phone.install(package)
    tunnel_of(new_ios).stop()
    assert "tunnel" in new_ios.fail("launch", BUNDLE)
    assert not new_ios.phone.process_table.list_running()
