"""Migration of state files that an earlier harness wrote, in one transaction.

Version 1 kept what was known of an alarm in dictionaries, with relative changes; version 2 keeps values, with log
ratios. Version 3 keeps the five figures of each point, and how far each series was judged. Version 4 keeps whether a
commit computes the same as its control. Version 5 keeps the last good checks of the devices of a point, and why it is
in doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from pydantic import BaseModel, JsonValue, ValidationError, field_validator

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage, ChangedOperator, Verification
from harness.core.change import Change, ChangeKind
from harness.core.commit import Commit
from harness.core.comparison import Comparison
from harness.core.culprit import Candidate, Culprit, SearchEnding, SearchResult
from harness.core.effect import effect_of, log_ratio_of
from harness.core.errors import EnvironmentProblem
from harness.core.metric import Direction, MetricInfo
from harness.core.values import Value
from harness.watch.store.database import VERSION, StateDatabase, describe_invalid
from harness.watch.store.event_log import BrokenCommits, CurrentActivity, LastError, PollCursor, PollStatus
from harness.watch.store.notifications import Delivery, DeliveryStatus, Notification

_OLD_TABLES: Final = ("searches", "points", "commits", "alarms", "letters", "notebook", "happenings")
"""Tables of version 1, those that refer to others first."""
_OLD_INDEXES: Final = ("commits_by_progress", "points_by_series", "letters_by_fate")

_COPIES: Final = (
    "INSERT INTO events SELECT number, time, text FROM old_happenings",
    (
        "INSERT INTO commits SELECT position, id, source, time, author, subject, progress, why, control, started,"
        " finished, attempts, rounds FROM old_commits"
    ),
    (
        "INSERT INTO points SELECT number, commit_id, round, benchmark, title, device, control, metric, '',"
        " CASE higher_is_better WHEN 1 THEN 'higher' ELSE 'lower' END, verdict, log_ratio,"
        " CASE WHEN error IS NULL THEN log_ratio ELSE low END, CASE WHEN error IS NULL THEN log_ratio ELSE high END,"
        " error, pairs, result, '[]', NULL, '{}', '' FROM old_points"
    ),
)

_FROM_VERSION_2: Final = (
    "ALTER TABLE points ADD COLUMN figures TEXT NOT NULL DEFAULT '[]'",
    (
        "CREATE TABLE judgements (benchmark TEXT NOT NULL, device TEXT NOT NULL, metric TEXT NOT NULL,"
        " number INTEGER NOT NULL, progress TEXT NOT NULL, PRIMARY KEY (benchmark, device, metric)) STRICT"
    ),
)

_FROM_VERSION_3: Final = ("ALTER TABLE points ADD COLUMN outputs TEXT",)

_FROM_VERSION_4: Final = (
    "ALTER TABLE points ADD COLUMN last_good_checks TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE points ADD COLUMN doubt TEXT NOT NULL DEFAULT ''",
)

_STEPS: Final = {2: _FROM_VERSION_2, 3: _FROM_VERSION_3, 4: _FROM_VERSION_4}
"""What brings a file of each version to the next."""

_FACTS: Final[Mapping[str, type[Value]]] = {
    "Doing": CurrentActivity,
    "Polled": PollStatus,
    "Place": PollCursor,
    "Broken": BrokenCommits,
    "Trouble": LastError,
}
_REQUIRED_FACTS: Final = (PollCursor, BrokenCommits)
"""Facts without which a watcher would go on wrongly; it writes the others anew."""


def migrate(database: StateDatabase) -> None:
    """Bring a file of an older version to the present version. A part of the transaction that is open.

    Raises:
        EnvironmentProblem: Something in it is not what version 1 wrote.
    """
    if (version := database.version()) > 1:
        for statement in chain.from_iterable(_STEPS[step] for step in range(version, VERSION)):
            database.change(statement)
        database.change(f"PRAGMA user_version = {VERSION}")
        return
    for index in _OLD_INDEXES:
        database.change(f"DROP INDEX {index}")
    for table in _OLD_TABLES:
        database.change(f"ALTER TABLE {table} RENAME TO old_{table}")
    database.create_schema()
    for statement in _COPIES:
        database.change(statement)
    try:
        _copy_facts(database)
        _copy_alarms(database)
    except ValueError as error:
        problem = describe_invalid(error) if isinstance(error, ValidationError) else str(error)
        raise EnvironmentProblem(
            f"the state {database.path} was written by an earlier harness, and a part of it cannot be read: {problem}",
            hint="let the earlier harness finish its alarms, or name another file with --state and begin with --since",
        ) from error
    for table in _OLD_TABLES:
        database.change(f"DROP TABLE old_{table}")


def _copy_facts(database: StateDatabase) -> None:
    for key, value in database.rows("SELECT key, value FROM old_notebook"):
        kind = _FACTS.get(str(key))
        if kind is None:
            continue
        try:
            fact = kind.model_validate_json(str(value))
        except ValidationError:
            if kind in _REQUIRED_FACTS:
                raise
            continue
        database.change("INSERT INTO facts VALUES (?, ?)", kind.__name__, fact.model_dump_json())


def _copy_alarms(database: StateDatabase) -> None:
    rows = database.rows("SELECT identity, opened, alarm FROM old_alarms ORDER BY rowid")
    old_alarms = [(identity, opened, _Alarm.model_validate_json(str(text))) for identity, opened, text in rows]
    history = _History(database, [old for _, _, old in old_alarms])
    for metric, unit in history.units.items():
        database.change("UPDATE points SET unit = ? WHERE metric = ?", unit, metric)
    for identity, opened, old in old_alarms:
        alarm = _alarm(old, history)
        database.change(
            "INSERT INTO alarms VALUES (?, ?, ?, ?)", identity, alarm.stage, opened, alarm.model_dump_json()
        )
    database.change("INSERT INTO searches SELECT identity, progress FROM old_searches")
    for number, identity, text in database.rows("SELECT number, identity, letter FROM old_letters"):
        delivery = _delivery(_Letter.model_validate_json(str(text)), history)
        database.change(
            "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?)",
            *(number, delivery.notification.key, delivery.channel, identity, delivery.status),
            delivery.model_dump_json(),
        )


class _History:
    """Places of commits in the history, directions of metrics, and their units, as the tables and alarms have them.

    Attributes:
        units: By name of the metric, as far as alarms were verified and agree on it.
    """

    def __init__(self, database: StateDatabase, alarms: Iterable[_Alarm]) -> None:
        rows = database.rows("SELECT id, position FROM old_commits")
        self._orders = {str(commit): int(str(position)) for commit, position in rows}
        rows = database.rows("SELECT DISTINCT metric FROM old_points WHERE higher_is_better")
        self._higher = {str(metric) for (metric,) in rows}
        units: defaultdict[str, set[str]] = defaultdict(set)
        for alarm in alarms:
            confirmation = alarm.document.confirmation
            if confirmation is not None and confirmation.document is not None and confirmation.document.unit:
                units[alarm.sign.metric].add(confirmation.document.unit)
        self.units: Mapping[str, str] = {metric: names.pop() for metric, names in units.items() if len(names) == 1}

    def order(self, commit: str) -> int:
        """Return the place of a commit; -1, before all others, for a control that was never watched."""
        return self._orders.get(commit, -1)

    def direction(self, metric: str) -> Direction:
        """Return which way is better for a metric."""
        return Direction.HIGHER if metric in self._higher else Direction.LOWER


class _Detection(BaseModel):
    title: str
    size: float
    low: float | None
    high: float | None
    score: float
    seen: str


class _Sign(BaseModel):
    identity: str
    benchmark: str
    device: str
    metric: str
    kind: ChangeKind
    first: str
    last: str
    document: _Detection


class _Operator(BaseModel):
    name: str
    difference: float | None
    low: float | None
    high: float | None
    contribution: float | None


class _Measured(BaseModel):
    device: str
    platform: str
    unit: str
    comparison: Comparison
    operators: tuple[_Operator, ...]
    pairs: int
    log_ratios: tuple[float, ...]
    result: str


class _Confirmation(BaseModel):
    confirmed: bool
    why: str
    document: _Measured | None

    @field_validator("document", mode="before")
    @classmethod
    def _is_none_without_measurement(cls, document: JsonValue) -> JsonValue:
        return document or None


class _Culprit(BaseModel):
    commits: tuple[str, ...]
    before: str
    probability: float
    step: float
    low: float | None
    high: float | None
    evidence: float
    confirmed: bool


class _Finding(BaseModel):
    ending: SearchEnding
    culprits: tuple[_Culprit, ...]
    whole: float | None
    rest: float | None
    more: float
    smallest: float
    pairs: int
    reason: str


class _Suspect(BaseModel):
    source: str
    id: str
    time: int | None
    author: str
    subject: str
    merge: bool
    builds: bool
    probability: float


class _Searched(BaseModel):
    finding: _Finding
    commits: tuple[_Suspect, ...]


class _Document(BaseModel):
    confirmation: _Confirmation | None = None
    search: _Searched | None = None


class _Alarm(BaseModel):
    sign: _Sign
    stage: AlarmStage
    why: str
    opened: float
    changed: float
    attempts: int
    document: _Document

    @field_validator("stage", mode="before")
    @classmethod
    def _rename_former_stage(cls, stage: JsonValue) -> JsonValue:
        return AlarmStage.REPORTED.value if stage == "told" else stage


class _News(BaseModel):
    key: str
    event: AlarmEvent
    time: float
    alarm: _Alarm


class _Letter(BaseModel):
    news: _News
    courier: str
    fate: DeliveryStatus
    queued: float
    attempts: int
    said: str
    delivered: float | None


def _delivery(old: _Letter, history: _History) -> Delivery:
    news = old.news
    return Delivery(
        notification=Notification(key=news.key, event=news.event, time=news.time, alarm=_alarm(news.alarm, history)),
        channel=old.courier,
        status=old.fate,
        queued=old.queued,
        attempts=old.attempts,
        reply=old.said,
        delivered=old.delivered,
    )


def _alarm(old: _Alarm, history: _History) -> Alarm:
    confirmation, searched = old.document.confirmation, old.document.search
    measured = confirmation.document if confirmation is not None else None
    return Alarm(
        change=_change(old.sign, measured, history),
        stage=old.stage,
        reason=old.why,
        opened=old.opened,
        updated=old.changed,
        attempts=old.attempts,
        verification=_verification(confirmation, measured) if confirmation and measured else None,
        search=_search(searched.finding) if searched is not None else None,
        candidates=tuple(_candidate(suspect) for suspect in searched.commits) if searched is not None else (),
    )


def _change(old: _Sign, measured: _Measured | None, history: _History) -> Change:
    """Return the change, of which only the commits are known between which it surely is."""
    detection = old.document
    return Change(
        identity=old.identity,
        benchmark=old.benchmark,
        title=detection.title,
        device=old.device,
        metric=MetricInfo(
            name=old.metric,
            unit=(measured.unit if measured is not None else "") or history.units.get(old.metric, ""),
            direction=history.direction(old.metric),
        ),
        kind=old.kind,
        before=old.first,
        before_order=history.order(old.first),
        after=old.last,
        after_order=history.order(old.last),
        last_without=old.first,
        first_with=old.last,
        effect=effect_of(detection.size, detection.low, detection.high),
        score=detection.score,
        detected_with=detection.seen,
    )


def _verification(old: _Confirmation, measured: _Measured) -> Verification:
    comparison = measured.comparison
    return Verification(
        confirmed=old.confirmed,
        verdict=comparison.effective_verdict,
        reason=comparison.reason,
        effect=comparison.effect,
        evidence=max(comparison.evidence.regression, comparison.evidence.improvement),
        pairs=measured.pairs,
        seconds=comparison.seconds,
        log_ratios=measured.log_ratios,
        operators=tuple(
            ChangedOperator(
                name=operator.name,
                effect=None
                if operator.difference is None
                else effect_of(operator.difference, operator.low, operator.high),
                contribution=operator.contribution,
            )
            for operator in measured.operators
        ),
        device_name=measured.device,
        platform=measured.platform,
        result=measured.result,
    )


def _search(old: _Finding) -> SearchResult:
    return SearchResult(
        ending=old.ending,
        culprits=tuple(
            Culprit(
                commits=culprit.commits,
                before=culprit.before,
                probability=min(1.0, culprit.probability),
                effect=effect_of(culprit.step, culprit.low, culprit.high),
                evidence=culprit.evidence,
                confirmed=culprit.confirmed,
            )
            for culprit in old.culprits
        ),
        total_log_ratio=None if old.whole is None else log_ratio_of(old.whole),
        unexplained_log_ratio=None if old.rest is None else log_ratio_of(old.rest),
        further_probability=min(1.0, max(0.0, old.more)),
        smallest_log_ratio=log_ratio_of(old.smallest),
        pairs=old.pairs,
        reason=old.reason,
    )


def _candidate(old: _Suspect) -> Candidate:
    commit = Commit(
        source=old.source, id=old.id, time=old.time, author=old.author, subject=old.subject, merge=old.merge
    )
    return Candidate(commit=commit, builds=old.builds, probability=min(1.0, max(0.0, old.probability)))
