"""Marks of stored results in lists."""

from __future__ import annotations

import pytest

from harness.core.result import Outcome
from harness.core.verdict import Verdict
from harness.presentation.verdicts import mark_stored


@pytest.mark.parametrize(
    ("outcome", "verdict", "trusted", "mark"),
    [
        (Outcome.OK, None, True, ""),
        (Outcome.OK, None, False, "!"),
        (Outcome.OK, Verdict.REGRESSION, False, "▼!"),
        (Outcome.SKIPPED, Verdict.NO_CHANGE, False, "="),
        (Outcome.SKIPPED, None, False, "-"),
        (Outcome.CRASHED, None, False, "✗"),
        (Outcome.FAILED, Verdict.UNDECIDED, False, "✗"),
    ],
)
def test_a_list_marks_doubt_and_tells_what_was_skipped_from_what_failed(
    outcome: Outcome, verdict: Verdict | None, trusted: bool, mark: str
) -> None:
    assert mark_stored(outcome, verdict, trusted=trusted).text == mark
