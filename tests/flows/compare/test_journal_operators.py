"""The journal of an interrupted comparison keeps what launches said about operators."""

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


def test_operators_come_back_with_the_pairs_that_had_them(tmp_path: Path) -> None:
    first, second = made_pairs(0.0, 2)
    writing = journal(tmp_path)
    writing.start(HEADER)
    writing.append_pair(first, None, LostLaunches())  # measured before anybody asked for operators
    writing.append_pair(second, MEDIANS, LostLaunches())
    found = journal(tmp_path).read()
    assert found is not None
    assert [pair.index for pair in found.pairs] == [0, 1]
    assert found.operators == (MEDIANS,)


def test_a_line_that_was_cut_takes_its_operators_along(tmp_path: Path) -> None:
    first, second = made_pairs(0.0, 2)
    writing = journal(tmp_path)
    writing.start(HEADER)
    writing.append_pair(first, MEDIANS.model_copy(update={"pair": 0}), LostLaunches())
    writing.append_pair(second, MEDIANS, LostLaunches())
    (file,) = tmp_path.glob("*.jsonl")
    file.write_text(file.read_text()[:-20])
    found = journal(tmp_path).read()
    assert found is not None
    assert [one.pair for one in found.operators] == [pair.index for pair in found.pairs] == [0]
