"""The stand-in's apps, started as a phone would start them: in a container, with variables."""

from __future__ import annotations

import hashlib
import json
import os
import plistlib
import shutil
import zipfile
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command, Completed
from harness.testing.phones.ios.apps.packages import make_package, runner_app, shell_app
from platforms.ios.apps import protocol
from platforms.ios.apps.protocol import AppResult, FileLink

RESULT = "Documents/edge-harness/1/0/result.json"


class Started:
    """An app that was installed by unpacking it, and what it leaves."""

    def __init__(self, package: Path, folder: Path) -> None:
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder / "installed")
            for entry in archive.infolist():
                (folder / "installed" / entry.filename).chmod(entry.external_attr >> 16 & 0o777)
        bundle = next((folder / "installed" / "Payload").iterdir())
        info = plistlib.loads((bundle / "Info.plist").read_bytes())
        self.executable = bundle / info["CFBundleExecutable"]
        self.container = folder / "container"
        self.container.mkdir()

    def start(self, *arguments: str, links: object = None, **env: str) -> Completed:
        variables = {protocol.RESULT: RESULT, protocol.MARK: "mark", "CFFIXED_USER_HOME": str(self.container), **env}
        if links is not None:
            self.write("Documents/links.json", links if isinstance(links, str) else json.dumps(links))
            variables[protocol.LINKS] = "Documents/links.json"
        return shell.run(Command((str(self.executable), *arguments), env=variables, timeout_s=60))

    def write(self, path: str, text: str) -> str:
        (self.container / path).parent.mkdir(parents=True, exist_ok=True)
        (self.container / path).write_text(text)
        return path

    def read(self, suffix: str = "") -> str:
        return (self.container / f"{RESULT}{suffix}").read_text()

    def result(self) -> AppResult:
        return AppResult.model_validate_json(self.read())

    def left_a_result(self) -> bool:
        return (self.container / RESULT).exists()


@pytest.fixture
def app(tmp_path: Path) -> Started:
    return Started(shell_app(tmp_path), tmp_path)


def test_the_shell_app_executes_its_arguments_and_leaves_a_result(app: Started) -> None:
    completed = app.start("/bin/sh", "-c", 'echo "out $1"; echo err >&2; exit 7', "sh", "a 'b'\n$c", "unused")
    assert completed.exit_code == 0
    result = app.result()
    assert (result.schema_version, result.mark, result.exit_code) == (protocol.SCHEMA, "mark", 7)
    assert (app.read(".out"), app.read(".err")) == ("out a 'b'\n$c\n", "err\n")
    assert (result.problem, result.version, result.foreground) == ("", "1", True)
    assert result.wall_s > 0
    assert result.cpu_s is not None
    assert result.peak_memory_bytes is not None
    assert result.executable_sha256 == hashlib.sha256(app.executable.read_bytes()).hexdigest()


def test_the_variables_of_the_protocol_do_not_reach_the_command(app: Started) -> None:
    app.start("/bin/sh", "-c", "env; pwd", EXTRA="kept")
    lines = app.read(".out").splitlines()
    assert "EXTRA=kept" in lines
    assert lines[-1] == str(app.container)
    names = {line.partition("=")[0] for line in lines}
    assert not names & {protocol.RESULT, protocol.LINKS, protocol.MARK}


def test_an_app_that_nobody_asked_does_nothing(app: Started) -> None:
    completed = shell.run(Command((str(app.executable), "/bin/sh", "-c", "echo never"), timeout_s=60))
    assert (completed.exit_code, completed.stdout) == (0, "")


def test_an_app_whose_command_dies_by_a_signal_dies_by_it_and_leaves_no_result(app: Started) -> None:
    completed = app.start("/bin/sh", "-c", "echo before; kill -SEGV $$")
    assert completed.signal == 11
    assert not app.left_a_result()
    assert app.read(".out") == "before\n"


@pytest.mark.parametrize("end", ["", "kill -KILL $PPID; sleep 60", "kill -ABRT $$"])
def test_nothing_of_an_app_is_left_when_it_ends(app: Started, end: str) -> None:
    app.start("/bin/sh", "-c", f"sleep 300 & echo $! > sleeping; {end}")
    pid = int((app.container / "sleeping").read_text())
    assert shell.poll_until(lambda: not is_alive(pid), 60)


def is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # nobody may wait for orphans here


def test_a_result_of_an_earlier_launch_is_gone_before_the_next(app: Started) -> None:
    app.start("/bin/true")
    app.start("/bin/sh", "-c", f"test ! -e {RESULT} || echo stale; kill -KILL $PPID; sleep 60")
    assert not app.left_a_result()
    assert app.read(".out") == ""


def test_a_command_that_does_not_exist_is_named(app: Started) -> None:
    app.start("Documents/none")
    assert app.result().exit_code == 127
    assert "cannot start Documents/none: No such file or directory" in app.read(".err")


def test_contents_become_files_that_can_be_started(app: Started) -> None:
    script, data = "#!/bin/sh\ncat Documents/s/1/data\n", 'with "quotes"\n'
    contents = [app.write("Documents/contents/aa", script), app.write("Documents/contents/bb", data)]
    paths, texts = ("Documents/s/1/deep/program ü", "Documents/s/1/data"), (script, data)
    links = [
        FileLink(path=path, content=content, size_bytes=len(text)).model_dump()
        for path, content, text in zip(paths, contents, texts, strict=True)
    ]
    for _launch in range(2):  # the second finds the links of the first
        app.start(paths[0], links=links)
        assert (app.result().exit_code, app.read(".out")) == (0, data)
    assert (app.container / paths[1]).samefile(app.container / contents[1])


def test_contents_that_are_missing_or_cut_are_listed_and_nothing_runs(app: Started) -> None:
    app.write("Documents/contents/cut", "1234")
    app.write("Documents/contents/whole", "1234")
    sizes = {"Documents/contents/cut": 5, "Documents/contents/whole": 4, "Documents/contents/none": 4}
    links = [{"path": f"{content}.link", "content": content, "size_bytes": size} for content, size in sizes.items()]
    app.start("/bin/echo", "ran", links=links)
    result = app.result()
    assert (result.exit_code, app.read(".out")) == (None, "")
    assert result.incomplete == ("Documents/contents/cut", "Documents/contents/none")
    assert "2 of 3" in result.problem
    assert not (app.container / "Documents/contents/whole.link").exists()


@pytest.mark.parametrize(
    "links",
    [
        "",
        "[",
        "{}",
        "[null]",
        "[{}]",
        "[" * 5000,
        '[{"path": "../a", "content": "b", "size_bytes": 1}]',
        '[{"path": "a", "content": "/etc/passwd", "size_bytes": 1}]',
        '[{"path": "a//b", "content": "b", "size_bytes": 1}]',
        '[{"path": "a", "content": "b", "size_bytes": -1}]',
        '[{"path": "a", "content": "b", "size_bytes": 1e300}]',
        '[{"path": "a\\u0000b", "content": "b", "size_bytes": 1}]',
        '[{"path": "a", "content": "b", "size_bytes": 1}] more',
        '[{"path": "\\ud800", "content": "b", "size_bytes": 1}]',
    ],
)
def test_a_broken_list_of_links_is_refused_in_words(app: Started, links: str) -> None:
    app.start("/bin/echo", "ran", links=links)
    result = app.result()
    assert result.exit_code is None
    assert result.problem.startswith("the list of links Documents/links.json: ")
    assert app.read(".out") == ""


@pytest.mark.parametrize("path", ["../result.json", "/tmp/result.json", "", "a/../../b", "a/"])
def test_a_result_outside_of_the_container_is_refused(app: Started, path: str) -> None:
    completed = app.start("/bin/echo", "ran", **{protocol.RESULT: path})
    assert completed.exit_code == 1
    assert "is no path inside of the container" in completed.stderr
    assert list(app.container.iterdir()) == []


def test_bytes_that_are_no_utf8_do_not_break_the_result(app: Started) -> None:
    mark = os.fsdecode(b'\xff\xc3("\\\n\x01')
    app.start("/bin/true", **{protocol.MARK: mark})
    assert app.result().mark == '\ufffd\ufffd("\\\n\x01'


def test_the_result_has_the_conditions_of_the_phone_before_and_after(app: Started) -> None:
    conditions = {"battery_percent": 41.5, "charging": False, "thermal_state": "fair", "low_power_mode": True}
    file = app.write("conditions.json", json.dumps({**conditions, "brightness": 0.25, "locked": False}))
    hot = json.dumps({**conditions, "thermal_state": "serious", "charging": True, "locked": True})
    variables = {"STAND_IN_CONDITIONS": str(app.container / file)}
    app.start("/bin/sh", "-c", 'printf %s "$1" > conditions.json', "sh", hot, **variables)
    before, after = app.result().before, app.result().after
    assert before is not None
    assert after is not None
    assert (before.thermal_state, before.low_power_mode, before.brightness) == ("fair", True, 0.25)
    assert (before.battery_percent, before.battery_state) == (41.5, "unplugged")
    assert (after.thermal_state, after.battery_state) == ("serious", "charging")
    assert after.time >= before.time > 1e9
    assert before.uptime_s is not None
    assert before.memory_available_bytes is not None
    assert app.result().foreground is False


def test_a_runner_app_gives_its_arguments_to_its_runner(tmp_path: Path) -> None:
    runner = tmp_path / "runner"
    runner.write_text('#!/bin/sh\nprintf "<%s>" "$@"\nexit 3\n')
    runner.chmod(0o644)
    app = Started(runner_app(tmp_path, runner, version="2.1"), tmp_path)
    app.start("--model", "a b", "")
    assert (app.read(".out"), app.result().exit_code, app.result().version) == ("<--model><a b><>", 3, "2.1")


def test_two_runners_have_two_executables_and_one_has_one(tmp_path: Path) -> None:
    packages = []
    for number, text in enumerate(("a", "b", "a")):
        runner = tmp_path / f"runner{number}"
        runner.write_text(text)
        packages.append(runner_app(tmp_path / str(number), runner))
    first, second, third = (package.read_bytes() for package in packages)
    assert first == third
    digests = set()
    for package in packages:
        with zipfile.ZipFile(package) as archive:
            digests.add(hashlib.sha256(archive.read("Payload/EdgeRunner.app/EdgeRunner")).hexdigest())
    assert len(digests) == 2
    assert first != second


def test_a_package_holds_its_program_unchanged_and_executable(tmp_path: Path) -> None:
    program = Path(shutil.which("true") or "/bin/true")
    package = make_package(
        tmp_path, program, bundle="org.example.a-1", name="An App", files={"Base/data": Path(__file__)}
    )
    with zipfile.ZipFile(package) as archive:
        modes = {entry.filename: oct(entry.external_attr >> 16) for entry in archive.infolist()}
        info = plistlib.loads(archive.read("Payload/An App.app/Info.plist"), fmt=plistlib.FMT_BINARY)
        assert archive.read("Payload/An App.app/An App") == program.read_bytes()
    assert modes["Payload/An App.app/An App"] == "0o100755"
    assert modes["Payload/An App.app/Base/data"] == "0o100644"
    assert (info["CFBundleIdentifier"], info["CFBundleExecutable"]) == ("org.example.a-1", "An App")


@pytest.mark.parametrize(
    ("bundle", "name", "version"),
    [("a b", "A", "1"), ("a", "../A", "1"), ("a", "", "1"), ("a", "A", "1\n"), ("a", "A", "x")],
)
def test_a_package_that_no_phone_would_take_is_not_made(tmp_path: Path, bundle: str, name: str, version: str) -> None:
    with pytest.raises(ValueError, match="of an app"):
        make_package(tmp_path, Path(__file__), bundle=bundle, name=name, version=version)
