"""The app for iPhones, as far as it can be tested without a Mac: what is plain C++ or shell."""

from __future__ import annotations

import json
import platform
import re
import shutil
from pathlib import Path

import pytest

import frameworks.executorch
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.testing.phones.ios.apps.packages import runner_app
from platforms.ios.apps import protocol
from platforms.ios.apps.protocol import AppResult

APPLE = Path(frameworks.executorch.__file__).parent / "apple"
HERE = Path(__file__).parent


@pytest.mark.slow
def test_each_partition_has_a_line_with_its_backend_and_devices(tmp_path: Path) -> None:
    sources = [HERE / "placement_lines.cpp", APPLE / "placement.cpp", APPLE / "protocol" / "json.cpp"]
    program = tmp_path / "lines"
    words = ("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{APPLE}", "-o", str(program), *map(str, sources))
    compiled = shell.run(Command(words, timeout_s=300))
    assert compiled.ok, compiled.stderr
    printed = shell.run(Command((str(program),), timeout_s=60)).stdout
    programs = []
    for text in printed.split("--\n")[:-1]:
        observations, notes = parse_lines(text)
        assert not notes
        programs.append({observation.name: observation.info for observation in observations})
    assert programs == [
        {
            "RUN partition_0": "CoreMLBackend: neural_engine 120, gpu 7, cpu 4",
            "RUN partition_1": "XnnpackBackend: cpu",
            "RUN partition_2": "CoreMLBackend: device unknown",
        },
        {"RUN partition_0": "CoreMLBackend: device unknown", "RUN partition_1": "CoreMLBackend: device unknown"},
        {"RUN partition_0": "MPSBackend: gpu", "RUN partition_1": 'a "new"\nbackend: device unknown'},
        {},
    ]


def test_the_build_names_files_that_exist() -> None:
    text = (APPLE / "CMakeLists.txt").read_text()
    listed = set(re.findall(r"(?:app|protocol)/\w+\.(?:cpp|mm)|\bplacement\.cpp", text))
    there = {str(path.relative_to(APPLE)) for suffix in ("cpp", "mm") for path in APPLE.rglob(f"*.{suffix}")}
    assert listed == there
    sources = (APPLE.parent / "native" / "sources.cmake").read_text()
    there = {path.name for path in (APPLE.parent / "native").glob("*.cpp")}
    assert set(re.findall(r"\w+\.cpp", sources)) == there - {"main.cpp"}


def build(*arguments: str, cwd: Path) -> Completed:
    return shell.run(Command(("/usr/bin/env", "-C", str(cwd), "sh", str(APPLE / "build.sh"), *arguments), timeout_s=60))


@pytest.mark.skipif(platform.system() == "Darwin", reason="on a Mac it would build")
def test_the_build_says_that_it_needs_a_mac(tmp_path: Path) -> None:
    completed = build("--team", "ABCDE12345", "--bundle-id", "org.example.runner", cwd=tmp_path)
    assert (completed.exit_code, completed.stderr) == (2, "error: apps for iPhones can be built on a Mac only\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--team '' is missing"),
        (("--team", "A;B", "--bundle-id", "a"), "--team 'A;B' is missing, or has characters"),
        (("--team", "AB", "--bundle-id", 'a"b'), "--bundle-id 'a\"b'"),
        (("--team", "AB", "--bundle-id", "a", "--version", "1 2"), "--version '1 2'"),
        (("--team", "AB", "--bundle-id", "a", "--backends", "$(x)"), "--backends '$(x)'"),
        (("--team", "AB", "--bundle-id", "a", "--executorch", "1.5.1\n2"), "--executorch '1.5.1\n2'"),
        (("--team",), "--team needs a value"),
        (("--tem", "a"), "unknown argument --tem"),
    ],
)
def test_what_cannot_be_built_is_refused(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    completed = build(*arguments, cwd=tmp_path)
    assert completed.exit_code == 2
    assert message in completed.stderr


@pytest.mark.slow
def test_the_native_runner_measures_inside_an_app(native: Build, programs: Path, tmp_path: Path) -> None:
    package = runner_app(tmp_path, native.programs["program"])
    shutil.unpack_archive(package, tmp_path, "zip")
    executable = tmp_path / "Payload" / "EdgeRunner.app" / "EdgeRunner"
    executable.chmod(0o755)
    container, model = tmp_path / "container", next(iter(sorted(programs.glob("*.pte"))))
    (container / "Documents").mkdir(parents=True)
    shutil.copy(model, container / "Documents" / "content")
    link = {"path": "Documents/1/model.pte", "content": "Documents/content", "size_bytes": model.stat().st_size}
    (container / "Documents" / "links.json").write_text(json.dumps([link]))
    variables = {protocol.RESULT: "Documents/result.json", protocol.LINKS: "Documents/links.json", protocol.MARK: "m"}
    words = (
        "/usr/bin/env",
        "-C",
        str(container),
        str(executable),
        "--model",
        "Documents/1/model.pte",
        "--threads",
        "1",
    )
    shell.run(Command(words, env=variables, timeout_s=120))
    result = AppResult.model_validate_json((container / "Documents" / "result.json").read_text())
    assert result.exit_code == 0, (container / "Documents" / "result.json.err").read_text()
    observations, _ = parse_lines((container / "Documents" / "result.json.out").read_text())
    assert len(next(item for item in observations if item.name == "NET latency").samples) == 50
