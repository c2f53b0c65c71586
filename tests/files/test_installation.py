"""The command that adds extras, tried with pip itself in environments without an index."""

from __future__ import annotations

import json
import shlex
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.files import installation


class Installed(metadata.Distribution):
    """Metadata of an installation, with what pip recorded about its origin (PEP 610)."""

    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, filename: str) -> str | None:
        return self.direct_url if filename == "direct_url.json" else None

    def locate_file(self, path: object) -> Path:
        raise FileNotFoundError(path)


def record(monkeypatch: pytest.MonkeyPatch, direct_url: object) -> None:
    text = None if direct_url is None else json.dumps(direct_url)
    monkeypatch.setattr(metadata, "distribution", lambda _name: Installed(text))


@pytest.fixture
def own_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put `pip` of the interpreter first on the search path."""
    for name in ("python", "pip"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))


WHEEL = {"url": "file:///tmp/edge_harness-0.1.0-py3-none-any.whl", "archive_info": {}}


@pytest.mark.usefixtures("own_pip")
@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (None, "pip install 'edge-harness[parquet]'"),
        (WHEEL, "pip install 'edge-harness[parquet]'"),
        ({"url": "file:///home/me/harness", "dir_info": {}}, "pip install 'edge-harness[parquet]'"),
        (
            {"url": "file:///home/me/my%20harness", "dir_info": {"editable": True}},
            "pip install -e '/home/me/my harness[parquet]'",
        ),
    ],
)
def test_a_checkout_is_named_by_its_folder_and_everything_else_by_its_name(
    monkeypatch: pytest.MonkeyPatch, direct_url: object, command: str
) -> None:
    record(monkeypatch, direct_url)
    assert installation.install_command(["parquet"]) == command


def test_the_pip_of_another_environment_is_never_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip").write_text("#!/bin/sh\n")
    (tmp_path / "pip").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    record(monkeypatch, None)
    command = installation.install_command(["vision", "all"], "torch==2.13.0")
    assert command == f"{shlex.quote(sys.executable)} -m pip install 'edge-harness[all,vision]' torch==2.13.0"


@pytest.mark.slow
def test_pip_adds_an_extra_to_a_wheel_that_is_in_no_index(tmp_path: Path) -> None:
    """The wheel itself is gone when the command runs; the package of the extra is a second wheel beside it."""
    environment = tmp_path / "environment"
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(environment))
    wheel = make_wheel(
        tmp_path, "edge_harness", 'Provides-Extra: parquet\nRequires-Dist: extra-part; extra == "parquet"'
    )
    run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-index", "--no-deps", str(wheel))
    wheel.unlink()
    parts = tmp_path / "parts"
    parts.mkdir()
    make_wheel(parts, "extra_part", "")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from harness.files import installation;"
        "print(installation.install_command(['parquet']))"
    )
    command = run(str(python), "-P", "-c", script, str(Path(__file__).parents[2])).strip()
    program, *arguments = shlex.split(command)
    assert program == str(python)
    pip = [sys.executable, "-m", "pip", "--python", program, *arguments[2:]]
    run(*pip, "-q", "--no-index", "--find-links", str(parts))
    assert run(str(python), "-c", "import extra_part; print(extra_part.__name__)").strip() == "extra_part"


def make_wheel(folder: Path, name: str, metadata_lines: str) -> Path:
    """Write a wheel with one module."""
    wheel = folder / f"{name}-9.9-py3-none-any.whl"
    info = f"{name}-9.9.dist-info"
    header = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 9.9\n{metadata_lines}\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", header)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def run(*argv: str) -> str:
    completed = shell.run(Command(argv, timeout_s=120))
    assert completed.ok, completed.stderr
    return completed.stdout
