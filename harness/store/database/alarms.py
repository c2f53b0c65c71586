"""Alarms in the database: reports of the watcher, and what persons did about them."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from harness.core.alarm import AlarmReport
from harness.core.commit import Commit
from harness.core.errors import UsageError
from harness.core.values import replace_surrogates
from harness.store.database.alarm_columns import describe_alarm
from harness.store.database.columns import bounded_float, key_text, shown_text
from harness.store.database.engine import Database
from harness.store.database.names import insert_new
from harness.store.database.tables import ALARM_COMMITS, ALARM_REMARKS, ALARMS, COMMITS
from harness.store.history import AlarmRemark


def store_alarm(database: Database, report: AlarmReport, *, now: float) -> bool:
    """Store a report of an alarm in place of an older one; return whether it is new or tells anything new.

    Reports may arrive in any order, and twice: the one that was updated last stays.

    Args:
        database: Where.
        report: The report.
        now: Time of its receipt, Unix seconds.

    Raises:
        EnvironmentProblem: It cannot be stored.
    """
    clean = replace_surrogates(report)
    columns = describe_alarm(clean)
    values = {name: key_text(value) if isinstance(value, str) else value for name, value in columns.values.items()}
    updated = min(clean.alarm.updated, max(now, clean.alarm.opened))  # a clock that is ahead must not win
    values["updated"] = updated
    commits = sorted({key_text(commit) for commit in columns.commits})
    with database.write() as connection:
        identity = values["identity"]
        same = ALARMS.c.identity == identity
        known = connection.execute(select(ALARMS).where(same)).mappings().first()
        if known is not None:
            is_told = all(known[name] == value for name, value in values.items() if name != "updated")
            if is_told or float(known["updated"]) > updated:
                return False
            connection.execute(ALARMS.update().where(same).values(values))
            connection.execute(delete(ALARM_COMMITS).where(ALARM_COMMITS.c.alarm == identity))
        else:
            connection.execute(insert(ALARMS), values)
        rows = [{"alarm": identity, "commit": commit, "cell_key": values["cell_key"]} for commit in commits]
        if rows:
            connection.execute(insert(ALARM_COMMITS), rows)
        for commit in sorted(_describe_commits(clean), key=lambda row: (str(row["source"]), str(row["sha"]))):
            insert_new(connection, COMMITS, [commit])
            there = (COMMITS.c.source == commit["source"]) & (COMMITS.c.sha == commit["sha"])
            told = {name: commit[name] for name in ("subject", "author") if commit[name]}
            if told:
                connection.execute(COMMITS.update().where(there).values(told))
    return True


def add_remark(database: Database, identity: str, remark: AlarmRemark) -> None:
    """Store what a person did about an alarm.

    Raises:
        UsageError: There is no such alarm.
        EnvironmentProblem: It cannot be stored.
    """
    clean = replace_surrogates(remark)
    with database.write() as connection:
        key = key_text(identity)
        if connection.execute(select(ALARMS.c.identity).where(ALARMS.c.identity == key)).first() is None:
            raise UsageError(f"there is no alarm {identity!r}", hint="the page of alarms lists them")
        row = {
            "alarm": key,
            "action": clean.action.value,
            "person": key_text(clean.person),
            "time": clean.time,
            "text": shown_text(clean.text),
            "until": clean.until,
        }
        connection.execute(insert(ALARM_REMARKS), row)


def _describe_commits(report: AlarmReport) -> list[dict[str, object]]:
    """Return the rows of the commits in question, which the watcher knows by subject and author."""
    commits: dict[tuple[str, str], Commit] = {}
    for commit in (report.before, *(candidate.commit for candidate in report.alarm.candidates)):
        commits[commit.source, commit.id] = commit
    return [
        {
            "source": key_text(commit.source),
            "sha": key_text(commit.id),
            "time": bounded_float(commit.time) if commit.time is not None else None,
            "name": "",
            "subject": shown_text(commit.subject),
            "author": shown_text(commit.author),
            "url": "",
        }
        for commit in commits.values()
    ]
