"""A lab on this machine: jobs of `harness run --lab`, and what happens when its parts end."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import requests

from harness.core.errors import UsageError
from harness.core.reproduction import Reproduction
from harness.lab.configuration import scheduler_address
from harness.lab.host_files import PART_BYTES
from tests.cli.project import Project, generic, observe, one_test
from tests.lab.labs import BEGINNING_S, Lab, client_of, measuring_children, open_lab, start
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_lab(tmp_path_factory.mktemp("lab")) as opened, opened.host("green"):
        yield opened


def test_a_benchmark_is_measured_there_and_reported_here(lab: Lab, project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6, 7))))
    here, there = project.harness(spec), project.harness(spec, "--lab", lab.address, "--user", "somebody")
    assert (here.code, there.code) == (0, 0), there.stderr
    first, second = sorted(there.read(), key=lambda result: result["finished"])
    assert second["meta"]["user"] == "somebody"
    assert [metric["samples"] for metric in second["metrics"]] == [metric["samples"] for metric in first["metrics"]]
    assert second["benchmark"]["digest"] == first["benchmark"]["digest"]
    assert second["device"]["identity"] == first["device"]["identity"]
    assert second["uid"] != first["uid"]
    assert "measuring m/a" in there.stderr
    line = Reproduction.model_validate(second["reproduction"]).line
    again = project.harness(*shlex.split(line)[1:])
    assert again.code == 0, again.stderr
    third = again.read()[-1]
    assert third["device"]["identity"] == second["device"]["identity"]
    assert f"--lab {lab.address}" in line


def test_files_of_the_client_are_sent_once(lab: Lab, project: Project) -> None:
    """A file of several parts, which is as large as a small model."""
    content = b"a model of the client\n".ljust(2 * PART_BYTES + 1)
    (project.folder / "model.bin").write_bytes(content)
    files = {"model": {"filename": "model.bin", "location": str(project.folder / "model.bin")}}
    commands = ("grep client {files.model}", observe(5, 6))
    spec = project.write("spec.json", generic(one_test("a", *commands), files=files))
    for _ in range(2):
        done = project.harness(spec, "--lab", lab.address)
        assert done.code == 0, done.stdout
        assert "!" not in done.stderr
    kept = list((lab.folder / "green" / "lab" / "files").glob("*/content"))
    assert [file.read_bytes() for file in kept] == [content]


def test_a_failure_there_is_a_failure_here(lab: Lab, project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "sh -c 'echo no such thing >&2; exit 7'")))
    done = project.harness(spec, "--lab", lab.address)
    assert done.code == 4
    (result,) = done.read()
    assert result["outcome"] == "failed"
    assert "exit status 7" in result["reason"]


def test_what_the_lab_does_not_have_is_told(lab: Lab, project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6))))
    for flags, words in (
        (("--device-class", "blue"), "no device of class blue"),
        (("--devices", "nobody"), "no device called nobody"),
        (("--cpus", "0"), "--cpus: hosts of a lab have no such option yet"),
        (("--runner", "python", "--reboot"), "--reboot, --runner: hosts of a lab have no such option yet"),
    ):
        done = project.harness(spec, "--lab", lab.address, *flags)
        assert done.code == 2, done.stderr
        assert words in done.stderr
    done = project.harness("evaluate", spec, "--lab", lab.address)
    assert done.code == 2
    done = project.harness("compare", spec, "--self-check", "--layouts", "2", "--lab", lab.address)
    assert done.code == 2
    assert "--layouts: hosts of a lab have no such option yet" in done.stderr


def test_what_the_environment_says_of_reports_goes_with_jobs(lab: Lab, project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6))))
    done = subprocess.run(
        [sys.executable, "-m", "harness", str(spec), "--lab", lab.address],
        env={**project.environment, "HARNESS_USER": "somebody", "HARNESS_REGRESSED_TYPES": "NET"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (file,) = (project.folder / "results").rglob("result.json")
    result = json.loads(file.read_text())
    assert result["meta"]["user"] == "somebody"
    assert result["metrics"][0]["regressed"]


@pytest.mark.parametrize("flags", [("serve", "--json"), ("status", "x", "--port", "0"), ("join", "x", "--host", "y")])
def test_a_flag_of_another_command_is_refused(flags: tuple[str, ...], project: Project) -> None:
    done = project.harness("lab", *flags)
    assert done.code == 2
    assert f"`harness lab {flags[0]} --help` lists every flag" in done.stderr


def test_switches_may_precede_the_command(project: Project) -> None:
    done = project.harness("-q", "lab", "status", "127.0.0.1:1")
    assert done.code == 3
    assert "does not answer" in done.stderr


def test_a_lab_that_does_not_answer_is_told(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(5, 6))))
    done = project.harness(spec, "--lab", "127.0.0.1:1")
    assert done.code == 3
    assert "the lab at tcp://127.0.0.1:1 does not answer" in done.stderr


def test_the_status_names_devices(lab: Lab, project: Project) -> None:
    done = project.harness("lab", "status", lab.address)
    assert done.code == 0
    assert "green" in done.stdout
    assert "idle" in done.stdout
    document = json.loads(project.harness("lab", "status", lab.address, "--json").stdout)
    assert [device["device_class"] for device in document["devices"]] == ["green"]


def test_a_device_serves_one_host_only(lab: Lab) -> None:
    words = ("lab", "join", lab.address, "--platforms", "host", "--cache-dir", str(lab.folder / "second"))
    second = start(lab.folder, "second", *words)
    try:
        second.wait_for("cannot join")
    finally:
        second.stop()


def test_a_killed_process_begins_anew_and_its_job_is_done_once(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", *_slow(project, 60, again=0))))
    with open_lab(project.folder) as opened, opened.host("green") as host, client_of(project, opened, spec) as client:
        wait_until((project.folder / "launched").exists, BEGINNING_S)
        (orphan, *_) = measuring_children(host, "slow.py")
        _process_of_device(orphan).kill()
        wait_until(lambda: not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE, 20)
        output, _ = client.communicate(timeout=120)
        assert client.returncode == 0, output
    assert len(list((project.folder / "results").rglob("result.json"))) == 1
    assert (project.folder / "launched").read_text() == "xx"


@pytest.mark.exhaustive
def test_a_withdrawn_device_ends_its_job_and_stays_out_until_it_is_returned(project: Project) -> None:
    slow = project.write("slow.json", generic(one_test("a", *_slow(project, seconds=10))))
    quick = project.write("quick.json", generic(one_test("b", observe(5, 6))))
    with open_lab(project.folder) as opened:
        with opened.host("green") as host, client_of(project, opened, slow) as client:
            wait_until((project.folder / "launched").exists, BEGINNING_S)
            status = json.loads(project.harness("lab", "status", opened.address, "--json").stdout)
            (device,) = [each["name"] for each in status["devices"]]
            words = ("lab", "withdraw", opened.address, device)
            done = project.harness(*words, "--reason", "its battery swells")
            assert done.code == 0, done.stderr
            assert "is withdrawn" in done.stdout
            output, _ = client.communicate(timeout=BEGINNING_S)  # nobody else could do its job again
            assert client.returncode == 0, output
            assert (project.folder / "launched").read_text() == "x"
            host.wait_for("joined as green, out of the pool")
        with opened.host("green") as host, client_of(project, opened, quick) as client:  # started anew
            host.wait_for("joined as green, out of the pool")
            assert "its battery swells" in project.harness("lab", "status", opened.address).stdout
            assert client.poll() is None
            done = project.harness("lab", "return", opened.address, device)
            assert done.code == 0, done.stderr
            late = project.write("late.json", generic(one_test("c", observe(5, 6))))
            late_done = project.harness(late, "--lab", opened.address)  # while its process is started anew
            assert late_done.code == 0, late_done.stderr
            output, _ = client.communicate(timeout=BEGINNING_S)
            assert client.returncode == 0, output
    done = project.harness(*words)
    assert done.code == 2
    assert "give --reason" in done.stderr


def test_an_interrupted_client_leaves_nothing_that_measures(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", *_slow(project, seconds=600))))
    with open_lab(project.folder) as opened, opened.host("green") as host, client_of(project, opened, spec) as client:
        wait_until(lambda: bool(measuring_children(host, "slow.py")), BEGINNING_S)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=90)
        assert client.returncode == 130
        wait_until(lambda: not measuring_children(host, "slow.py"), 30)
        quick = project.write("quick.json", generic(one_test("b", observe(5, 6))))
        again = project.harness(quick, "--lab", opened.address)
        assert again.code == 0, again.stderr


@pytest.mark.exhaustive
def test_a_client_that_waits_for_a_device_may_be_interrupted_without_harm_to_whoever_has_it(project: Project) -> None:
    first = project.write("first.json", generic(one_test("a", *_slow(project, seconds=600))))
    second = project.write("second.json", generic(one_test("b", observe(5, 6))))
    with open_lab(project.folder) as opened, opened.host("green") as host, client_of(project, opened, first):
        wait_until(lambda: bool(measuring_children(host, "slow.py")), BEGINNING_S)
        measuring = {process.pid for process in measuring_children(host, "slow.py")}
        with client_of(project, opened, second) as waiting:
            assert waiting.stdout is not None
            assert any("1 jobs for" in line for line in waiting.stdout)
            time.sleep(2)  # until the process of the device has it
            waiting.send_signal(signal.SIGINT)
            waiting.communicate(timeout=90)
        assert waiting.returncode == 130
        time.sleep(2)
        assert {process.pid for process in measuring_children(host, "slow.py")} == measuring


def test_a_lab_without_certificates_listens_here_alone(lab: Lab) -> None:
    """Whoever reaches the process of a device can execute programs."""
    own = psutil.Process(lab.scheduler.started.pid)
    host = next(process for process in psutil.Process().children(recursive=True) if _is_host(process, lab))
    listening = [
        connection.laddr.ip
        for process in (own, host, *host.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3
    assert {*listening} == {"127.0.0.1"}


def test_a_port_that_is_taken_is_told(lab: Lab, project: Project) -> None:
    done = project.harness("lab", "serve", "--port", lab.address.rpartition(":")[2])
    assert done.code == 3
    assert "cannot listen at 127.0.0.1:" in done.stderr
    assert "address already in use" in done.stderr.lower()


def test_nothing_is_told_over_plain_http(lab: Lab) -> None:
    own = psutil.Process(lab.scheduler.started.pid)
    ports = {each.laddr.port for each in own.net_connections("inet") if each.status == psutil.CONN_LISTEN}
    for port in ports - {int(lab.address.rpartition(":")[2])}:
        for path in ("info/main/logs.html", "json/identity.json", "metrics", "health", ""):
            assert requests.get(f"http://127.0.0.1:{port}/{path}", timeout=10).status_code == 404


@pytest.mark.exhaustive
def test_a_client_whose_scheduler_dies_says_so(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", *_slow(project, seconds=600))))
    with (
        open_lab(project.folder) as opened,
        opened.host("green") as host,
        client_of(project, opened, spec, "--return-timeout", "3") as client,
    ):
        wait_until(lambda: bool(measuring_children(host, "slow.py")), BEGINNING_S)
        opened.scheduler.started.kill()
        errors, _ = client.communicate(timeout=120)
        assert client.returncode == 3, errors
        assert "the connection to the lab at" in errors
        assert "was lost" in errors
        assert "Traceback" not in errors
        wait_until(lambda: not measuring_children(host, "slow.py"), 60)
        assert "left the lab" in host.text
        assert "distributed" not in host.text


@pytest.mark.exhaustive
def test_a_host_that_lost_its_lab_waits_for_it_and_can_be_stopped(tmp_path: Path) -> None:
    with open_lab(tmp_path) as opened, opened.host("green") as host:
        opened.scheduler.started.kill()
        host.wait_for("left the lab")
        host.started.send_signal(signal.SIGINT)
        assert host.started.wait(20) == 0, host.text
        assert "Traceback" not in host.text


def test_jobs_whose_devices_all_went_away_end_as_lost(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", *_slow(project, seconds=600))))
    with (
        open_lab(project.folder) as opened,
        opened.host("green") as host,
        client_of(project, opened, spec, "--return-timeout", "3") as client,
    ):
        wait_until((project.folder / "launched").exists, BEGINNING_S)
        host.kill()
        output, _ = client.communicate(timeout=120)
    assert client.returncode == 3, output
    assert "the lab has no device of green now: waiting for one" in output
    assert "all devices that could measure it left the lab" in output
    (result,) = (project.folder / "results").rglob("result.json")
    assert '"device_lost"' in result.read_text()


@pytest.mark.exhaustive
def test_jobs_that_a_scheduler_forgot_are_submitted_again(project: Project) -> None:
    tests = [one_test(f"a-{number}", *_slow(project, seconds=2)) for number in range(4)]
    spec = project.write("spec.json", generic(*tests))
    with open_lab(project.folder) as opened, opened.host("green"):
        port = opened.address.rpartition(":")[2]
        with client_of(project, opened, spec) as client:
            wait_until(lambda: len(list((project.folder / "results").rglob("result.json"))) == 1, BEGINNING_S)
            opened.scheduler.started.kill()
            opened.scheduler.started.wait(20)
            again = start(project.folder, "again", "lab", "serve", "--port", port)
            try:
                output, _ = client.communicate(timeout=180)
            finally:
                again.stop()
    assert client.returncode == 0, output
    assert "jobs were submitted again" in output
    assert len(list((project.folder / "results").rglob("result.json"))) == len(tests)


@pytest.mark.parametrize("address", ["", "http://lab", "lab:0", "lab:99999", "lab:x", "::1", ":8786"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="no address of a lab"):
        scheduler_address(address, encrypted=False)


def test_addresses_need_neither_scheme_nor_port() -> None:
    assert scheduler_address("lab", encrypted=False) == "tcp://lab:8786"
    assert scheduler_address("lab:99", encrypted=True) == "tls://lab:99"
    assert scheduler_address("[::1]", encrypted=False) == "tcp://[::1]:8786"
    assert scheduler_address("tcp://10.0.0.1:80", encrypted=False) == "tcp://10.0.0.1:80"


def test_a_lab_beyond_this_machine_needs_certificates(project: Project) -> None:
    done = project.harness("lab", "serve", "--host", "0.0.0.0")
    assert done.code == 2
    assert "whoever reaches a lab can execute programs on its hosts" in done.stderr
    assert "harness lab certificate HOST" in done.stderr


def _is_host(process: psutil.Process, lab: Lab) -> bool:
    words = process.cmdline()
    return "join" in words and lab.address in words and str(lab.folder / "green") in words


def _slow(project: Project, seconds: float = 4, *, again: float | None = None) -> tuple[str, ...]:
    """Return the command of a program that takes some seconds, and others when it is launched again."""
    launched = str(project.folder / "launched")
    text = (
        "import os, time\n"
        f"seconds = {seconds if again is None else again} if os.path.exists({launched!r}) else {seconds}\n"
        f"open({launched!r}, 'a').write('x')\ntime.sleep(seconds)\n"
        """print('PyTorchObserver {"type": "NET", "metric": "latency", "unit": "ms", "value": "5"}')\n"""
    )
    return (f"{sys.executable} {project.write('slow.py', text)}",)


def _process_of_device(program: psutil.Process) -> psutil.Process:
    """Return the process that serves a device: the nearest Python above a program that does not run it."""
    return next(parent for parent in program.parents() if "slow.py" not in " ".join(parent.cmdline()))
