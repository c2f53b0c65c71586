"""Operators in the journal of an interrupted comparison."""

from __future__ import annotations

from pathlib import Path

from harness.core.build import Build
from harness.core.comparison import STATISTICS, OperatorMedians
from harness.flows.compare.journal import Header, Journal, LostLaunches
from tests.presentation.comparison_samples import made_pairs

CONTROL, TREATMENT = (Build(source="prebuilt", commit=name, digest=name) for name in ("old", "new"))
HEADER = Header(seed=7, metric="NET latency", unit="us", statistics=STATISTICS)
MEDIANS = OperatorMedians(pair=1, control={"conv #1": 12.5}, treatment={"conv #1": 13.25, "add #1": 0.5})


def journal(folder: Path) -> Journal:
    return Journal(folder, "subject", CONTROL, TREATMENT)


def test_operators_are_read_back_with_their_pairs(tmp_path: Path) -> None:
    first, second = made_pairs(0.0, 2)
    writing = journal(tmp_path)
    writing.start(HEADER)
    writing.append_pair(first, None, LostLaunches())  # measured without operators
    writing.append_pair(second, MEDIANS, LostLaunches())
    contents = journal(tmp_path).read()
    assert contents is not None
    assert [pair.index for pair in contents.pairs] == [0, 1]
    assert contents.operators == (MEDIANS,)


def test_a_truncated_line_loses_its_operators_only(tmp_path: Path) -> None:
    first, second = made_pairs(0.0, 2)
    writing = journal(tmp_path)
    writing.start(HEADER)
    writing.append_pair(first, MEDIANS.model_copy(update={"pair": 0}), LostLaunches())
    writing.append_pair(second, MEDIANS, LostLaunches())
    (file,) = tmp_path.glob("*.jsonl")
    file.write_text(file.read_text()[:-20])
    contents = journal(tmp_path).read()
    assert contents is not None
    assert (
        [operators_of_pair.pair for operators_of_pair in contents.operators]
        == [pair.index for pair in contents.pairs]
        == [0]
    )
