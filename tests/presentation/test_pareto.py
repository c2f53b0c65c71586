"""Compromises of speed, size and SQNR: dominated means at least as good in everything and better in something."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.core.note import Note
from harness.core.result import Result
from harness.presentation.evaluation_table import build_evaluation_table
from harness.presentation.pareto import describe_compromises, find_compromises, find_dominated
from tests.presentation.evaluation_samples import evaluated_result

COSTS = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(10, 15))


def dominated(*results: tuple[float, int, float]) -> dict[str, str]:
    made = [
        evaluated_result(str(number), latency_ms=latency, size_bytes=size, sqnr=sqnr, margin=0.1)
        for number, (latency, size, sqnr) in enumerate(results)
    ]
    names = {result.uid: result.benchmark.identifier for result in made}
    return {names[uid]: better.benchmark.identifier for uid, better in find_dominated(find_compromises(made)).items()}


def test_a_program_that_is_worse_in_everything_is_dominated_by_the_better_one() -> None:
    assert dominated((1.0, 100, 30.0), (2.0, 200, 20.0)) == {"1": "0"}


def test_a_program_that_is_better_in_one_thing_is_not_dominated() -> None:
    assert dominated((1.0, 100, 30.0), (2.0, 200, 40.0)) == {}


def test_equal_programs_do_not_dominate_each_other() -> None:
    assert dominated((1.0, 100, 30.0), (1.0, 100, 30.0)) == {}


def test_a_difference_within_the_intervals_is_no_proof() -> None:
    assert dominated((1.0, 100, 30.05), (1.0, 100, 30.0)) == {}


def test_a_program_that_only_chance_may_keep_from_being_dominated_is_named() -> None:
    good = evaluated_result("good", latency_ms=1.0, size_bytes=100, sqnr=30.0, margin=0.1)
    by_chance, really = (
        evaluated_result(name, latency_ms=2.0, size_bytes=200, sqnr=sqnr, margin=0.1)
        for name, sqnr in (("chance", 30.15), ("really", 30.25))
    )
    assert [line.text for line in describe_compromises([good, by_chance])] == [
        "best compromises of speed, size and SQNR: good, chance",
        "chance is among them for its SQNR alone, which is not shown to be higher than that of good",
    ]
    assert [line.text for line in describe_compromises([good, really])] == [
        "best compromises of speed, size and SQNR: good, really"
    ]


def test_identical_outputs_are_the_best_fidelity() -> None:
    exact = evaluated_result("exact", sqnr=None)
    close = evaluated_result("close", sqnr=90.0)
    assert list(find_dominated(find_compromises([exact, close])).values()) == [exact]


def test_outputs_without_a_ratio_to_the_reference_are_not_the_best_fidelity() -> None:
    """A reference that is zero everywhere has no signal: the ratio is absent, and not because there is no noise."""
    wrong = evaluated_result("wrong", sqnr=None, largest_error=3.0)
    assert find_compromises([wrong]) == []


def test_only_programs_of_one_model_on_one_device_are_compared() -> None:
    fast = evaluated_result("q8")
    slow = evaluated_result("q8", latency_ms=9.0)
    others = [of_model(slow, "big"), on_device(evaluated_result("q8", latency_ms=9.0))]
    assert find_dominated(find_compromises([fast, *others])) == {}
    assert list(describe_compromises([fast, *others])) == []


def test_a_share_of_right_answers_is_not_compared_with_decibels() -> None:
    labelled = evaluated_result("labelled", latency_ms=2.0, accuracy=0.99)
    assert find_dominated(find_compromises([labelled, evaluated_result("noisy", sqnr=5.0)])) == {}


def test_the_lines_name_the_model_where_there_are_several() -> None:
    small = [evaluated_result("fast"), evaluated_result("slow", latency_ms=2.0)]
    big = [of_model(evaluated_result(name, latency_ms=9.0), "big") for name in ("one", "two")]
    assert [line.text for line in describe_compromises([*small, *big])] == [
        f"best compromises of speed, size and SQNR of {small[0].benchmark.model}: fast",
        "slow is dominated by fast, which is at least as fast and as small, and has no lower SQNR",
        "best compromises of speed, size and SQNR of big: one, two",
    ]


def of_model(result: Result, model: str) -> Result:
    return result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"model": model})})


def on_device(result: Result) -> Result:
    assert result.device is not None
    return result.model_copy(update={"device": result.device.model_copy(update={"identity": "phone"})})


def test_outputs_that_are_not_numbers_are_no_compromise() -> None:
    assert find_compromises([evaluated_result("faulty", nan_examples=1)]) == []


def test_what_cannot_be_trusted_takes_no_part_and_is_marked() -> None:
    good, other, doubted = (
        evaluated_result(name, latency_ms=speed) for name, speed in zip("abc", (1.0, 2.0, 0.1), strict=True)
    )
    doubt = Note(code="busy", message="other programs used the machine", trust=False)
    doubted = doubted.model_copy(update={"notes": (doubt,)})
    results = [good, other, doubted]
    told, best, *_ = (line.text for line in describe_compromises(results))
    assert told == "1 of 3 cannot be trusted, and takes no part in best compromises"
    assert best.endswith(": a")
    (unknown,) = (line.text for line in describe_compromises([doubted, doubted]))
    assert unknown == "best compromises: unknown, because 2 of 2 cannot be trusted"
    assert list(describe_compromises([doubted, of_model(good, "big")])) == [], "they would be no rivals"
    assert len(find_compromises(results)) == 3, "it is drawn"
    marks, *_ = build_evaluation_table(results)
    assert [span.text for span in marks.cells] == ["", "", "!"]


def test_the_lines_name_the_best_and_who_dominates_whom() -> None:
    results = [evaluated_result("fast"), evaluated_result("slow", latency_ms=2.0)]
    assert [line.text for line in describe_compromises(results)] == [
        "best compromises of speed, size and SQNR: fast",
        "slow is dominated by fast, which is at least as fast and as small, and has no lower SQNR",
    ]


@given(st.lists(COSTS, min_size=1, max_size=6))
def test_the_dominated_are_those_of_a_direct_comparison(costs: list[tuple[int, int, int]]) -> None:
    """Margins are smaller than steps, so that every difference is proven."""

    def beats(one: tuple[int, int, int], two: tuple[int, int, int]) -> bool:
        return one[0] <= two[0] and one[1] <= two[1] and one[2] >= two[2] and one != two

    expected = {str(n) for n, own in enumerate(costs) if any(beats(other, own) for other in costs)}
    assert set(dominated(*costs)) == expected
