"""The plan of a comparison, before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config.settings import default_cache
from tests.cli.project import Project, generic, one_test


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, default_cache())


def test_a_plan_has_both_sides_pairs_and_margin(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program}"), one_test("b", "{program} 2", iter=7)))
    sides: list[str | Path] = []
    for name in ("old", "new"):
        program = project.write(name, f"#!/bin/sh\necho {name}\n")
        program.chmod(0o755)
        sides += [f"--{'control' if name == 'old' else 'treatment'}-program", program]
    done = project.harness("compare", spec, *sides, "--pairs", "30", "--margin", "0.02", "--dry-run")
    assert done.code == 0, done.stderr
    assert f"control: program {sides[1]}\ntreatment: program {sides[3]}\n" in done.stdout
    assert "decided by: the main metric, with a margin of 2 %\n" in done.stdout
    assert "pairs × iterations" in done.stdout
    assert "up to 30 × 7" in done.stdout
    assert "launches" not in done.stdout
    assert not done.results.exists()
