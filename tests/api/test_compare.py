"""`harness.compare`: comparisons from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness
from harness.presentation.commands import format_rerun_command
from tests.cli import scripts
from tests.cli.project import Project, generic, one_test

SPEC = generic(one_test("a", "{program}"))


@pytest.fixture
def project(place: Path) -> Project:
    return Project(place, place / "cache")


def test_a_comparison_returns_the_verdict_of_each_benchmark(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    base = scripts.script(project, "base", scripts.text(1000.0))
    slower = scripts.script(project, "slower", scripts.text(1300.0))
    results = harness.compare(
        SPEC, control_program=base, treatment_program={"program": slower}, seed=1, pairs=20, precision=0.5
    )
    assert capfd.readouterr() == ("", "")
    assert results.exit_code is harness.ExitCode.REGRESSION
    comparison = results[0].comparison
    assert comparison is not None
    assert comparison.verdict is harness.Verdict.REGRESSION
    assert results[0].reproduction is None
    assert format_rerun_command(results[0]) == ""
    assert comparison.parameters.precision == 0.5
    table = harness.frame(results)
    assert table["verdict"].dropna().unique().tolist() == ["regression"]
    assert len(harness.samples(results)) > 20


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"controll": "1.0"}, "harness.compare takes no option `controll`\n  hint: did you mean `control`?"),
        ({}, "nothing to compare"),
        ({"self_check": True, "margin": -1.0}, "--margin -1.0"),
        ({"self_check": True, "pairs": "many"}, "pairs: input should be a valid integer"),
        (
            {"self_check": True, "interleave": "both"},
            "interleave: input should be 'auto', 'launch', 'process' or 'duet'",
        ),
        ({"control_program": "missing", "treatment_program": "missing"}, "there is no program missing"),
        ({"control_program": "./missing", "treatment_program": "x"}, "there is no program ./missing"),
    ],
)
def test_wrong_keywords_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(harness.UsageError) as raised:
        harness.compare(SPEC, options=keywords)
    assert message in str(raised.value)
