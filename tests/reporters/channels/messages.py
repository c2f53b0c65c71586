"""Messages of one alarm, of several with one cause, of an update, of an end, and of nasty texts."""

from __future__ import annotations

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.core.effect import effect_of
from tests.reporters.alarms.alarm_samples import (
    bisected_step,
    changed,
    closed,
    commit,
    culprit,
    improvement,
    nasty_subjects,
    searched,
)

PAGE = "https://perf.example/results/alarms/5f2b/index.html"


def message(*reports: AlarmReport, **fields: object) -> AlarmMessage:
    event = reports[0].event
    return AlarmMessage.model_validate(
        {"key": "k1", "group": reports[0].alarm.identity, "event": event, "reports": reports, "page": PAGE, **fields}
    )


def step(number: int, step: float) -> AlarmReport:
    """One of many benchmarks that the same commit moved."""
    search = searched(reason="proven", culprits=(culprit(commit(25, "Use a slower loop"), step=step),))
    return changed(bisected_step(), identity=f"alarm-{number}", title=f"model{number}/xnnpack_q8", search=search)


ONE = message(bisected_step())
MANY = message(*(step(number, 0.02 + number / 1000) for number in range(50)))
UPDATE = message(step(1, 0.031), step(2, 0.067), key="k2", is_update=True, new=("alarm-2",))
OVER = message(closed(), key="k3")
BETTER = message(improvement())
NASTY = message(nasty_subjects(), changed(nasty_subjects(), effect=effect_of(-0.5)))
TEST = message(changed(bisected_step(), event=AlarmEvent.TEST), event=AlarmEvent.TEST)

ALL = {"one": ONE, "many": MANY, "update": UPDATE, "over": OVER, "better": BETTER, "nasty": NASTY, "test": TEST}
