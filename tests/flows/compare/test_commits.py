"""What becomes of a commit that has no runner: a failed build is passed over, network and disk are tried again."""

from __future__ import annotations

import pytest

from harness.core.commit import Commit
from harness.core.errors import BuildFailed, EnvironmentProblem, ExitCode, HarnessError
from harness.core.result import Outcome
from harness.flows.compare.commits import ControlFailed, raise_for_failure
from harness.flows.compare.compare import ComparisonOutcome
from harness.flows.measure.plan import Builds, Failure

CONTROL, TREATMENT = (Commit(source="git:x", id=digit * 40) for digit in "12")
BROKEN = Failure(Outcome.FAILED, "it does not compile", is_environment_problem=True)
AWAY = Failure(Outcome.FAILED, "no network", is_environment_problem=True, is_transient=True)


def raised(control: Builds, treatment: Builds) -> HarnessError:
    with pytest.raises(HarnessError) as caught:
        raise_for_failure(
            ComparisonOutcome(ExitCode.ENVIRONMENT, control, treatment, stored=True, summary=()), [], CONTROL, TREATMENT
        )
    return caught.value


def test_a_commit_that_does_not_build_is_told_from_one_that_cannot_be_had_now() -> None:
    assert type(raised({}, {("f", "d"): BROKEN})) is BuildFailed
    assert type(raised({("f", "d"): BROKEN}, {})) is ControlFailed
    away: Builds = {("f", "d"): AWAY}
    for control, treatment in ((away, {}), ({}, away)):
        found = raised(control, treatment)
        assert type(found) is EnvironmentProblem
        assert "no network" in found.message


def test_a_commit_is_named_once() -> None:
    named = Failure(
        Outcome.FAILED, f"generic {TREATMENT.short} cannot be built: no such luck", is_environment_problem=True
    )
    assert raised({}, {("f", "d"): named}).message == named.reason
    assert raised({}, {("f", "d"): BROKEN}).message == f"{TREATMENT.short}: it does not compile"


def test_what_may_pass_decides_where_both_stand_in_the_way() -> None:
    assert type(raised({}, {("f", "d"): BROKEN, ("f", "e"): AWAY})) is EnvironmentProblem
