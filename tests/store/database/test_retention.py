"""What is old leaves the database, and what anybody still needs stays."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from harness.core.alarm import AlarmStage
from harness.core.result import RawLog, Result
from harness.store.canonical_json import to_json_line
from harness.store.database.alarms import store_alarm
from harness.store.database.engine import Database
from harness.store.database.integrity import check_database
from harness.store.database.retention import RetentionKind, RetentionRule, plan_removal, remove, sweep_artifacts
from harness.store.database.tables import ARTIFACTS, CELLS, COMMITS, METRICS, SAMPLES
from harness.store.database.writing import NewResult, Storing, iterate_results, load_stored, store_results
from harness.testing.progress import RecordedProgress
from harness.testing.results import STARTED, failed_result, ok_result
from tests.presentation.comparison_samples import compared, made_pairs
from tests.reporters.alarms.alarm_samples import bisected_step

LATER = STARTED + 1000.0
EVERYTHING = RetentionRule(RetentionKind.RESULTS, LATER)


def put(database: Database, *results: Result) -> None:
    logs = (RawLog(name="same", text="text"),)
    new = [NewResult(result, logs=(*logs, RawLog(name="own", text=result.uid))) for result in results]
    store_results(database, new, now=LATER)


def uids(database: Database) -> list[str]:
    return [result.uid for result in iterate_results(database)]


def is_whole(database: Database) -> bool:
    report = check_database(database, RecordedProgress())
    assert report.problems == []
    return report.orphans == 0


def test_old_results_go_with_their_files_and_the_newest_of_each_cell_stay(database: Database) -> None:
    put(database, *(ok_result(uid=f"{number}", started=STARTED + number) for number in range(5)))
    other = ok_result(uid="other", started=STARTED)
    put(database, other.model_copy(update={"benchmark": other.benchmark.model_copy(update={"digest": "b" * 64})}))
    rule = RetentionRule(RetentionKind.RESULTS, STARTED + 4, keep=2)
    assert plan_removal(database, rule).uids == ("0", "1", "2")
    assert uids(database) == ["0", "other", "1", "2", "3", "4"], "a plan removes nothing"
    removal = remove(database, rule)
    assert (removal.uids, removal.files, removal.file_bytes) == (("0", "1", "2"), 3, 3)
    assert uids(database) == ["other", "3", "4"]
    assert is_whole(database)
    with database.read() as connection:
        assert connection.execute(select(CELLS.c.results).order_by(CELLS.c.results)).scalars().all() == [1, 2]
        assert connection.execute(select(func.count()).select_from(METRICS)).scalar_one() == 3 * len(
            ok_result().metrics
        )
    assert remove(database, rule).uids == ()


def test_the_newest_good_result_stays_beside_newer_failures(database: Database) -> None:
    good = ok_result(uid="good", started=STARTED)
    failures = [failed_result(uid=f"{number}") for number in range(3)]
    same = {"benchmark": good.benchmark, "device": good.device}
    put(
        database,
        good,
        *(
            failure.model_copy(update={**same, "started": STARTED + 1 + place})
            for place, failure in enumerate(failures)
        ),
    )
    remove(database, EVERYTHING)
    assert uids(database) == ["good", "2"]


@pytest.mark.parametrize(("stage", "kept"), [(AlarmStage.REPORTED, True), (AlarmStage.CLOSED, False)])
def test_a_cell_with_an_open_alarm_keeps_everything(stage: AlarmStage, kept: bool, database: Database) -> None:
    report = bisected_step()
    report = report.model_copy(update={"alarm": report.alarm.model_copy(update={"stage": stage})})
    change = report.alarm.change
    result = ok_result()
    assert result.device is not None
    cell = {
        "benchmark": result.benchmark.model_copy(update={"digest": change.benchmark}),
        "device": result.device.model_copy(update={"identity": change.device}),
    }
    for uid in ("1", "2"):
        put(database, result.model_copy(update={**cell, "uid": uid, "started": STARTED + int(uid)}))
    store_alarm(database, report, now=LATER)
    removal = remove(database, EVERYTHING)
    assert (removal.uids, removal.protected) == (((), 1) if kept else (("1",), 0))
    assert uids(database) == (["1", "2"] if kept else ["2"])


def test_logs_alone_go_and_a_file_of_several_results_stays(database: Database) -> None:
    put(database, ok_result(uid="1", started=STARTED), ok_result(uid="2", started=STARTED + 1))
    removal = remove(database, RetentionRule(RetentionKind.LOGS, LATER))
    assert (removal.uids, removal.files) == (("1",), 1)
    assert uids(database) == ["1", "2"]
    assert is_whole(database)


def test_samples_alone_go_and_the_result_is_known_again(database: Database) -> None:
    old = compared("slower", made_pairs(0.05, 12)).model_copy(update={"uid": "1", "started": STARTED})
    new = old.model_copy(update={"uid": "2", "started": STARTED + 1})
    put(database, old, new)
    assert remove(database, RetentionRule(RetentionKind.SAMPLES, LATER)).uids == ("1",)
    pruned = load_stored(database, "1")
    assert pruned is not None
    assert all(not metric.samples for metric in pruned.metrics)
    assert pruned.comparison == old.comparison
    assert [metric.summary for metric in pruned.metrics] == [metric.summary for metric in old.metrics]
    whole = load_stored(database, "2")
    assert whole is not None
    assert to_json_line(whole) == to_json_line(new)
    assert store_results(database, [NewResult(old)], now=LATER) == (Storing.KNOWN,)
    report = check_database(database, RecordedProgress())
    assert (report.problems, report.without_samples) == ([], 1)
    with database.read() as connection:
        assert connection.execute(select(func.count()).select_from(SAMPLES)).scalar_one() > 0


def test_commits_that_nothing_names_go_too(database: Database) -> None:
    first = ok_result(uid="1", started=STARTED)
    assert first.build is not None
    build = first.build.model_copy(update={"commit": "old"})
    put(database, first.model_copy(update={"build": build}), ok_result(uid="2", started=STARTED + 1))
    remove(database, EVERYTHING)
    with database.read() as connection:
        assert "old" not in connection.execute(select(COMMITS.c.sha)).scalars().all()


def test_room_is_given_back_to_the_disk(database: Database) -> None:
    put(database, *(ok_result(uid=f"{number}", started=STARTED + number) for number in range(3)))
    remove(database, EVERYTHING)
    database.vacuum()
    assert uids(database) == ["2"]


def test_files_are_swept_only_when_nothing_names_them(database: Database) -> None:
    put(database, ok_result(uid="1"))
    assert sweep_artifacts(database) == (0, 0)
    database.artifacts.write("left", b"by a process that was killed", media_type="text/plain")
    assert not is_whole(database)


def test_a_check_names_what_was_changed(database: Database) -> None:
    put(database, ok_result(uid="1"))
    with database.read() as connection:
        first, second = connection.execute(select(ARTIFACTS.c.digest).order_by(ARTIFACTS.c.digest)).scalars().all()
    database.artifacts.locate(first).write_text("changed")
    database.artifacts.locate(second).unlink()
    with database.write() as connection:
        connection.execute(
            SAMPLES.delete().where(SAMPLES.c.metric_id == select(func.min(METRICS.c.id)).scalar_subquery())
        )
    problems = check_database(database, RecordedProgress()).problems
    assert any(first[2:] in problem and "another" in problem for problem in problems)
    assert any(second[2:] in problem and "cannot be read" in problem for problem in problems)
