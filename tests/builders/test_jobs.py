"""Number of compilers: by cores and memory, within the limits of a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.jobs import COMPILER_BYTES, jobs_of_this_machine, parallel_jobs


@pytest.mark.parametrize(
    ("cpus", "compilers_in_memory", "jobs"),
    [(8, 100, 8), (8, 3, 3), (8, 0, 1), (0.5, 100, 1), (1.5, 100, 2)],
)
def test_cores_and_memory_limit_the_jobs(cpus: float, compilers_in_memory: int, jobs: int) -> None:
    assert parallel_jobs(cpus, compilers_in_memory * COMPILER_BYTES) == jobs


def test_limits_of_a_container_count(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert jobs_of_this_machine(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text(str(COMPILER_BYTES))
    (tmp_path / "memory.current").write_text("0")
    assert jobs_of_this_machine(tmp_path) == 1


def test_without_control_groups_the_machine_decides(tmp_path: Path) -> None:
    assert jobs_of_this_machine(tmp_path) >= 1
