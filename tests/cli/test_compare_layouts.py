"""`harness compare --layouts`: links of the control against each other, and what that says about a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import History, git_of_scripts, script, text

LAYOUTS = """# Layout n of a program is 4 % slower than layout n - 1.
level=$((1000 + 40 * ${HARNESS_LAYOUT_SEED:-0}))
[ -z "${HARNESS_LAYOUT_SEED:-}" ] || [ -f "$HARNESS_BUILD_DIR/compiled" ] || exit 3
echo compiled > "$HARNESS_BUILD_DIR/compiled"
sed "s/value = 1000.0/value = $level.0/" "$1/runner" > "$2"
"""
FEW = ("--pairs", "12", "--seed", "3")


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("work", "{program}", threads=1)))


@pytest.fixture
def clone(project: Project) -> History:
    return git_of_scripts(project)


def sides(clone: History, treatment: str = "slower") -> tuple[str | Path, ...]:
    """Return the flags of a treatment that is 10 % slower."""
    where = ("--repo-dir", clone.folder, "--frameworks-dir", clone.recipes)
    return (*where, "--control", clone.commits["base"], "--treatment", clone.commits[treatment])


def codes(result: dict[str, list[dict[str, str]]]) -> list[str]:
    return [note["code"] for note in result["notes"]]


@pytest.mark.slow
def test_a_difference_below_the_floor_of_the_control_is_noted_and_stays_a_regression(
    project: Project, spec: Path, clone: History
) -> None:
    project.write("recipes/generic/host/build.sh", LAYOUTS)
    done = project.harness("compare", "-b", spec, *sides(clone), "--layouts", "3", *FEW)
    assert done.code == 1, done.stderr
    assert "layout floor 1" in done.stderr  # 12 %, with the noise of the programs
    *layouts, result = done.read()
    assert [layout["run_type"] for layout in layouts] == ["layout"] * 3
    assert result["comparison"]["verdict"] == "regression"
    assert "below_layout_floor" in codes(result)
    assert "may be the layout of memory" in done.stdout

    later = project.harness("compare", "-b", spec, *sides(clone), *FEW)  # the floor is kept with the build
    assert later.code == 1, later.stderr
    assert "below_layout_floor" in codes(later.read()[-1])


@pytest.mark.slow
def test_a_difference_above_the_floor_has_no_note(project: Project, spec: Path, clone: History) -> None:
    project.write("recipes/generic/host/build.sh", LAYOUTS)
    done = project.harness("compare", "-b", spec, *sides(clone), "--layouts", "1", *FEW)
    assert done.code == 1, done.stderr
    assert "below_layout_floor" not in codes(done.read()[-1])


def test_a_recipe_that_links_no_layouts_is_refused_before_anything_is_measured(
    project: Project, spec: Path, clone: History
) -> None:
    done = project.harness("compare", "-b", spec, *sides(clone), "--layouts", "3", *FEW)
    assert done.code == 3
    assert "cannot link its runner in other layouts" in done.stderr
    assert "--layouts" in done.stderr
    assert done.read() == []


def test_given_programs_cannot_be_linked_again(project: Project, spec: Path) -> None:
    old, new = (script(project, name, text()) for name in ("old", "new"))
    done = project.harness(
        "compare", "-b", spec, "--control-program", old, "--treatment-program", new, "--layouts", "3", *FEW
    )
    assert done.code == 2
    assert "a given program cannot be linked again" in done.stderr
