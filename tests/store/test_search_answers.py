"""Answers of searches, stored beside results."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.commit import Commit
from harness.core.culprit import Candidate, SearchAnswer, SearchEnding, SearchResult
from harness.core.errors import EnvironmentProblem
from harness.store.search_answers import read_answer, save_answer

ANSWER = SearchAnswer(
    run="ab12",
    benchmark="mv2/fp32",
    good="v1",
    bad="main (8d0ed79ba0bf)",
    result=SearchResult(ending=SearchEnding.UNDECIDED, smallest_log_ratio=0.01, reason="the budget is spent"),
    suspects=(Candidate(commit=Commit(source="git:/src", id="a" * 40), probability=0.5),),
)


def test_an_answer_is_read_as_it_was_saved_and_replaced_when_the_search_goes_on(tmp_path: Path) -> None:
    save_answer(tmp_path, ANSWER)
    assert read_answer(tmp_path, "ab12") == ANSWER
    found = ANSWER.model_copy(update={"result": ANSWER.result.model_copy(update={"ending": SearchEnding.FOUND})})
    save_answer(tmp_path, found)
    assert read_answer(tmp_path, "ab12") == found


@pytest.mark.parametrize("run", ["", "cd34", "../ab12", "searches/ab12"])
def test_a_run_that_was_no_search_has_no_answer(tmp_path: Path, run: str) -> None:
    save_answer(tmp_path, ANSWER)
    assert read_answer(tmp_path, run) is None


def test_a_damaged_answer_is_named_with_its_remedy(tmp_path: Path) -> None:
    file = save_answer(tmp_path, ANSWER)
    file.write_text("{")
    with pytest.raises(EnvironmentProblem, match="it is damaged") as error:
        read_answer(tmp_path, "ab12")
    assert str(file) in error.value.message
    assert error.value.hint == "remove it to see the comparisons"
