"""Programs that the user gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.flows.measure.given_programs import depends_on, describe_unused, reject_unexecutable, starts_any
from harness.specification.load import load
from tests.cli.project import generic, one_test


def test_a_program_for_this_machine_must_be_executable_unless_it_is_a_library(tmp_path: Path) -> None:
    settings = Settings()
    host, android = (plugins.platform(name, settings) for name in ("host", "android"))
    program, library = tmp_path / "run", tmp_path / "libc++_shared.so"
    for file in (program, library):
        file.write_text("#!/bin/sh\n")
        file.chmod(0o644)
    programs = {"program": program, "library": library}
    with pytest.raises(UsageError, match="cannot be executed") as caught:
        reject_unexecutable(programs, host)
    assert caught.value.hint == f"chmod +x {program}"
    model = tmp_path / "mine.pte"
    model.write_bytes(b"")
    with pytest.raises(UsageError, match="cannot be executed") as caught:
        reject_unexecutable({"program": model}, host)
    assert (caught.value.hint or "").startswith("a model is no program: `files` of a specification names it")
    reject_unexecutable(programs, android)  # which gets a copy that can be executed
    program.chmod(0o755)
    reject_unexecutable(programs, host)


def write(file: Path, line: str) -> Path:
    file.write_text(json.dumps(generic(one_test("a", line))))
    return file


@pytest.mark.parametrize(
    ("line", "is_started"),
    [
        ("{program} --size 3", True),
        ("{folder}/v2/prog", True),
        ("env A=1 sh -c 'exec {folder}/v1/../v2/prog'", True),
        ("{folder}/v1/prog --size 3", False),
        ("/usr/bin/env {folder}/v1/prog", False),
        ("sh -c 'exec {folder}/v1/prog'", False),
        ("prog --size 3", False),
        ("./prog", False),
        ("{TGTDIR}/prog", True),
    ],
)
def test_a_program_of_the_same_name_elsewhere_is_another_one(tmp_path: Path, line: str, *, is_started: bool) -> None:
    line = line.replace("{folder}", str(tmp_path))
    benchmarks = load([write(tmp_path / "spec.json", line)]).benchmarks
    programs = {"program": tmp_path / "v2" / "prog"}
    assert starts_any(benchmarks[0], programs) == is_started
    assert bool(describe_unused(benchmarks, programs)) != is_started


def test_a_program_behind_a_link_is_the_same_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (benchmark,) = load([write(tmp_path / "spec.json", f"{tmp_path}/real/prog")]).benchmarks
    assert starts_any(benchmark, {"program": tmp_path / "link" / "prog"})


def test_a_library_is_found_by_its_name(tmp_path: Path) -> None:
    library = {"hooks": tmp_path / "libhooks.so"}
    for line, is_found in (("LD_PRELOAD=./libhooks.so {program}", True), ("{program}", False)):
        (benchmark,) = load([write(tmp_path / "spec.json", line)]).benchmarks
        assert starts_any(benchmark, library) == depends_on(benchmark, library) == is_found


def test_a_command_that_names_a_file_starts_it_whatever_is_given(tmp_path: Path) -> None:
    """Both sides of a comparison would be that file."""
    (benchmark,) = load([write(tmp_path / "spec.json", f"{tmp_path}/old")]).benchmarks
    assert starts_any(benchmark, {"program": tmp_path / "old"})
    assert not depends_on(benchmark, {"program": tmp_path / "old"})
