"""Ranks in cells and in sentences."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.core.ranking import Rank, RankingParameters
from harness.core.result import Result
from harness.display.tables import find_hidden, fit_table
from harness.presentation.measurement_section import describe_measurements
from harness.presentation.measurement_table import build_overview
from harness.presentation.ranks import describe_ranks, format_ratio_interval, order_by_rank
from harness.testing.results import ok_result

PARAMETERS = RankingParameters(seed=7)


def ranked(name: str, **values: object) -> Result:
    rank = Rank.model_validate({"ranking": "mv2", "ranked": 3, "rounds": 9, "parameters": PARAMETERS, **values})
    return ok_result(uid=name, identifier=name).model_copy(update={"rank": rank})


RESULTS = [
    ranked("a", best=1, worst=1, ratio=1.0, fastest="a"),
    ranked("b", best=2, worst=3, ratio=1.25, low=1.2, high=1.3, fastest="a", equivalent=("c",)),
    ranked("c", best=2, worst=3, ratio=12.0, low=None, high=15.0, fastest="a", undecided=("b",)),
    ranked("d", reason="other work"),
]


def test_ranks_ratios_and_intervals_are_columns() -> None:
    cells = {column.name: [cell.text for cell in column.cells] for column in build_overview(RESULTS)}

    assert cells["rank"] == ["1", "2-3", "2-3", "-"]
    assert cells["to the fastest"] == ["1.000×", "1.250×", "12.0×", ""]
    assert cells["95 % interval"] == ["", "1.200× - 1.300×", "? - 15.0×", ""]
    assert cells["speed"] == ["", "", "", ""]


@pytest.mark.parametrize(
    ("low", "text"),
    [(1.00042, "1.0004× - 1.300×"), (0.99958, "0.9996× - 1.300×"), (1 + 1e-9, "1.000000001× - 1.300×")],
)
def test_an_end_beside_1_does_not_read_as_1(low: float, text: str) -> None:
    result = ranked("b", best=2, worst=2, ratio=1.02, low=low, high=1.3, fastest="a")

    assert format_ratio_interval(result) == text


def test_sentences_name_the_fastest_and_why_ranks_are_shared() -> None:
    assert [line.text for line in describe_ranks(RESULTS)] == [
        "fastest of mv2: a",
        "  b: within 1 % of c",
        "  c: not told apart from b within the budget",
        "9 rounds in random order (seed 7); the probability that any program is wrongly called faster is at most 5 %",
    ]


def test_a_shared_first_rank_names_no_fastest() -> None:
    shared = [ranked("a", best=1, worst=2, ratio=1.0, fastest="a"), ranked("b", best=1, worst=2, ratio=1.0)]

    assert next(iter(describe_ranks(shared))).text == "mv2: a and b share the first rank"


def test_a_ranking_without_ranks_says_so() -> None:
    (line,) = describe_ranks([RESULTS[3]])

    assert line.text == "mv2: nothing is ranked, because no two of 1 are known to do the same work"


def test_results_that_were_not_ranked_have_no_such_columns() -> None:
    informative = [column.name for column in build_overview([ok_result()]) if column.is_informative]

    assert not {"rank", "to the fastest", "95 % interval"} & set(informative)


def test_results_of_a_ranking_are_ordered_by_rank_and_others_stay() -> None:
    first, last = ok_result(uid="first"), ok_result(uid="last")
    a, b, c, d = RESULTS
    assert order_by_rank([first, d, c, b, a, last]) == [first, a, b, c, d, last]
    section = describe_measurements([d, c, b, a])
    assert section.results == [a, b, c, d]
    assert next(column for column in section.overview if column.name == "rank").cells[0].text == "1"


@pytest.mark.parametrize(("width", "absent"), [(60, ["95 % interval"]), (46, ["95 % interval", "to the fastest"])])
def test_columns_of_a_ranking_make_room_for_the_names(width: int, absent: list[str]) -> None:
    names = ("mlp-xnnpack_fp32", "mlp-portable")
    results = [
        ranked(name, best=place, worst=place, ratio=place, low=1.1, high=1.3, fastest=names[0])
        for place, name in enumerate(names, 1)
    ]
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    columns = build_overview(results)
    assert set(absent) <= set(find_hidden(columns, console))
    console.print(fit_table(columns, console))
    assert all(name in console.file.getvalue() for name in names)  # type: ignore[attr-defined]
