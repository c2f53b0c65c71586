"""`docs/accuracy.md` defines the figures that the code computes, and its numbers are those of the code."""

from __future__ import annotations

import re

import numpy as np
import pytest

from harness.analysis.accuracy.comparison import TOLERANCES
from harness.analysis.accuracy.intervals import mcnemar_p_value, paired_difference_interval
from harness.analysis.accuracy.sample_sizes import examples_for_difference, examples_for_proportion
from harness.analysis.accuracy.stages import Labels, evaluate_stage
from harness.core.evaluation import Statistic
from harness.core.examples import Stage
from tests.analysis.accuracy.streams import stream
from tests.docs.pages import DOCS, codes, tables

TEXT = (DOCS / "accuracy.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())


def _statistics() -> dict[str, Statistic]:
    scores = np.eye(10, dtype="f4")
    (evaluation,) = evaluate_stage(
        Stage.HOST, stream(scores), Stage.EAGER, stream(scores), labels=Labels(list(range(10)))
    )
    return {statistic.name: statistic for statistic in evaluation.statistics}


def test_every_statistic_is_defined_with_its_unit_and_direction() -> None:
    rows = {codes(row[0])[0]: row for table in tables("accuracy.md", "statistics").values() for row in table}
    statistics = _statistics()
    assert list(rows) == list(statistics)
    for name, statistic in statistics.items():
        unit = rows[name][1]
        assert (statistic.unit, statistic.direction.value) == ("" if unit.startswith("that") else unit, rows[name][2])


def test_the_default_tolerances_are_those_of_the_code() -> None:
    rows = tables("accuracy.md", "tolerances")[""]
    named = {codes(row[0])[0]: (row[2], float(row[1])) for row in rows[:-1]}
    assert named.keys() == TOLERANCES.keys()
    for name, (absolute, relative) in named.items():
        base, _, exponent = absolute.partition("**")
        assert TOLERANCES[name] == (float(base) ** int(exponent), relative)


@pytest.mark.parametrize(
    ("lost", "gained", "p_value", "low", "high"), [(12, 2, 0.013, -3.8, -0.6), (5, 2, 0.45, -2.0, 0.6)]
)
def test_examples_of_mcnemar_are_computed(lost: int, gained: int, p_value: float, low: float, high: float) -> None:
    interval = paired_difference_interval(gained, lost, 500)
    assert interval is not None
    assert mcnemar_p_value(gained, lost) == pytest.approx(p_value, rel=0.02)
    assert [round(100 * end, 1) for end in interval] == [low, high]
    assert f"p = {p_value}, interval {low} to {f'{high:+}' if high > 0 else high} points" in WORDS


def test_numbers_of_examples_are_computed() -> None:
    about = re.findall(r"[Nn]ear (\d+) % (?:that takes )?about (\d[\d,]*\d)", WORDS)
    assert len(about) == 3
    for percent, count in about:
        assert examples_for_proportion(int(percent) / 100) == pytest.approx(int(count.replace(",", "")), rel=0.02)
    assert examples_for_proportion(1.0) == 368
    assert examples_for_difference(0.01) == 783
    assert examples_for_difference(0.05) == pytest.approx(3900, rel=0.02)
