"""Jobs of assignments: what cannot be measured as its test says is a failure."""

from __future__ import annotations

import pytest

from harness.core.benchmark import Input
from harness.core.build import Build
from harness.core.device import Device
from harness.core.measurement import Job
from harness.flows.measure.jobs import make_job
from harness.flows.measure.plan import Assignment, Failure
from tests.flows.compare.test_example_outputs import Rows
from tests.flows.instant import benchmark

DEVICE = Device(platform="instant", identity="A", name="A")
BUILDS = {("generic", "A"): Build(source="prebuilt", commit="1")}


def make(*shapes: tuple[int, ...], commands: tuple[str, ...] = ()) -> Job | Failure:
    """Make the job of a test that names these inputs; its program takes one of [1, 3]."""
    inputs = tuple(Input(name=f"x{number}", shape=shape) for number, shape in enumerate(shapes))
    assignment = Assignment(benchmark("sums").model_copy(update={"inputs": inputs, "commands": commands}), DEVICE)
    return make_job(assignment, BUILDS, {}, {"generic": Rows()})


@pytest.mark.parametrize("shapes", [((8, 3),), ((1, 3), (1, 3))])
def test_a_program_of_other_shapes_than_its_test_names_is_not_measured(shapes: tuple[tuple[int, ...], ...]) -> None:
    job = make(*shapes)
    assert isinstance(job, Failure)
    assert "and its program is executed with [1, 3]" in job.reason
    assert "the largest is executed" in (job.hint or "")


def test_a_program_of_the_shapes_that_its_test_names_is_measured() -> None:
    assert isinstance(make((1, 3)), Job)
    assert isinstance(make(), Job)


def test_shapes_of_a_test_with_commands_are_its_own() -> None:
    assert isinstance(make((8, 3), commands=("{program} 8",)), Job)
