from __future__ import annotations

import pytest

from tests.cli.project import Project, generic, observe, one_test

pytestmark = pytest.mark.slow


def test_the_interleaving_is_stored_with_the_comparison(project: Project) -> None:
    program = project.folder / "program"
    program.write_text("#!/bin/sh\n" + observe(*(100.0 + value for value in range(12))) + "\n")
    program.chmod(0o755)
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    arguments = (
        "compare",
        "-b",
        spec,
        "--control-program",
        program,
        "--treatment-program",
        _copy(project),
        "--pairs",
        "2",
    )
    plain = project.harness(*arguments)
    turned = project.harness(*arguments, "--interleave", "process")
    assert plain.code == turned.code == 5, plain.stderr + turned.stderr
    without, asked_for = (result["comparison"] for result in turned.read())
    assert without["parameters"]["interleave"] == asked_for["parameters"]["interleave"] == "launch"
    assert "launches" not in [note["code"] for note in without["notes"]]
    (why,) = [note["message"] for note in asked_for["notes"] if note["code"] == "launches"]
    assert "runners of generic cannot be interleaved" in why


def test_an_unknown_interleaving_is_a_usage_error(project: Project) -> None:
    done = project.harness("compare", "-b", "spec.json", "--self_check", "--interleave", "iteration")
    assert done.code == 2
    assert "interleave" in done.stderr


def _copy(project: Project) -> str:
    """The same program with other bytes."""
    path = project.folder / "changed"
    path.write_text((project.folder / "program").read_text() + "# changed\n")
    path.chmod(0o755)
    return str(path)
