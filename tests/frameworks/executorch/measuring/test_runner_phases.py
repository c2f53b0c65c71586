"""Both runners: the memory of each phase, and loading from the disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from frameworks.observations.observer import parse_lines
from frameworks.python_runner.page_cache import CachedPages, drop_from_page_cache
from harness import shell
from harness.core.build import Build
from harness.core.command import Command
from harness.core.metric import Observation

MEBIBYTE = 1 << 20
PHASES = {"before_load", "after_program_load", "after_load", "after_first_execution"}


def measure(*words: str | Path) -> Mapping[str, Observation]:
    completed = shell.run(Command(tuple(map(str, words))))
    assert completed.ok, completed.describe()
    observations, notes = parse_lines(completed.stdout)
    assert notes == ()
    return {observation.name: observation for observation in observations}


def value(observation: Observation) -> float:
    (sample,) = observation.samples
    return sample


@pytest.mark.slow
def test_memory_is_reported_for_each_phase(native: Build, python: Build, programs: Path) -> None:
    there, here = (
        measure(build.programs["program"], "--model", programs / "wide.pte", "--threads", "1", "--phases")
        for build in (native, python)
    )
    assert set(there) == set(here) - {"RUN threads_observed"}  # which the native runner does not look for
    for observations in (there, here):
        memory = {name: value(item) for name, item in observations.items() if "memory" in name}
        assert set(memory) == {
            *(f"RUN {kind}memory_{phase}" for kind in ("", "proportional_") for phase in PHASES),
            *(f"RUN peak_memory_in_{phase}" for phase in ("program_load", "method_load", "first_execution")),
            "RUN peak_memory",
            "RUN planned_memory",
        }
        # 64 MiB of input and 64 MiB of output; the Python runner touches them only when it executes.
        assert memory["RUN planned_memory"] == pytest.approx(128 * MEBIBYTE, abs=MEBIBYTE)
        assert memory["RUN memory_after_first_execution"] - memory["RUN memory_before_load"] > 120 * MEBIBYTE
        assert memory["RUN proportional_memory_after_load"] <= memory["RUN memory_after_load"] + MEBIBYTE
        assert memory["RUN peak_memory_in_program_load"] < memory["RUN peak_memory_in_first_execution"]
        phases = [size for name, size in memory.items() if name.startswith("RUN peak_memory_in_")]
        assert memory["RUN peak_memory"] >= max(phases)
        assert value(observations["RUN iterations_done"]) == 1
    assert value(there["RUN memory_after_load"]) - value(there["RUN memory_after_program_load"]) > 60 * MEBIBYTE
    assert there["RUN planned_memory"] == here["RUN planned_memory"]


@pytest.mark.slow
def test_a_cold_load_reads_the_program_from_the_disk(runner: Path, programs: Path, tmp_path: Path) -> None:
    model = tmp_path / "linear.pte"
    shutil.copy(programs / "linear.pte", model)
    if drop_from_page_cache(model).unavailable is not None:
        pytest.skip("the temporary folder lies in memory")
    model.read_bytes()
    observations = measure(runner, "--model", model, "--cold")
    assert value(observations["RUN cold_load_time"]) > value(observations["RUN cold_program_load_time"]) > 0
    assert value(observations["RUN cold_first_iteration"]) > 0
    assert {"RUN load_time", "RUN first_iteration", "RUN cold_load_unavailable"}.isdisjoint(observations)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no file system in memory")
def test_a_load_that_cannot_be_cold_is_not_called_cold(runner: Path, programs: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm") as in_memory:
        model = Path(in_memory, "linear.pte")
        shutil.copy(programs / "linear.pte", model)
        observations = measure(runner, "--model", model, "--cold")
    assert "pages of the program stayed in the page cache" in (observations["RUN cold_load_unavailable"].info or "")
    assert {"RUN load_time", "RUN cold_load_time", "RUN cold_first_iteration"}.isdisjoint(observations)


def test_a_file_is_dropped_from_the_page_cache_or_the_reason_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(5 * 4096 + 1))
    dropped = drop_from_page_cache(path)
    assert dropped.problem is not None or dropped.pages == 6
    assert drop_from_page_cache(tmp_path / "missing").problem == "the file cannot be opened: No such file or directory"
    (tmp_path / "empty").touch()
    assert drop_from_page_cache(tmp_path / "empty") == CachedPages()
    assert CachedPages(6, 2).unavailable == "2 of 6 pages of the program stayed in the page cache"
