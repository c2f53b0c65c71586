"""Reports of alarms as rows: nothing is lost, and lists need no series."""

from __future__ import annotations

from harness.store.database.alarm_columns import describe_alarm, unpack_report
from tests.reporters.alarms.alarm_samples import bisected_step, commit, found_step, improvement, two_culprits


def test_a_report_comes_back_with_and_without_its_series() -> None:
    report = bisected_step()
    values = describe_alarm(report).values
    packed, series = values["report"], values["series"]
    assert isinstance(packed, bytes)
    assert isinstance(series, bytes)
    assert unpack_report(packed, series) == report
    assert unpack_report(packed) == report.model_copy(update={"series": ()})


def test_the_commits_in_question_and_the_culprits_are_those_that_an_alarm_explains() -> None:
    assert describe_alarm(found_step()).commits == tuple(commit(number).id for number in range(23, 27))
    assert commit(10).id in describe_alarm(two_culprits()).commits


def test_the_time_of_an_alarm_is_that_of_the_first_commit_with_the_change() -> None:
    assert describe_alarm(found_step()).values["time"] == commit(26).time
    assert describe_alarm(bisected_step()).values["time"] == commit(25).time


def test_columns_tell_the_direction_and_whether_it_was_confirmed() -> None:
    step, better = describe_alarm(found_step()).values, describe_alarm(improvement()).values
    assert (step["worse"], step["proven"]) == (True, True)
    assert (better["worse"], better["proven"]) == (False, True)
