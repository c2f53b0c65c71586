"""`harness alarms`: what a person sees of alarms, and decides about them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import main
from harness.core.alarm import AlarmEvent, AlarmStage
from harness.core.commit import Commit
from harness.flows.inspect import alarms as flow
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import State, open_state
from tests.watch.watching import alarm, change, found

CULPRIT = "736ae249736ae249736ae249736ae249736ae249"
REPAIR = "b4" * 20


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    """A state with a reported alarm, locked by its watcher."""
    with open_state(tmp_path / "watch.db") as opened:
        for commit in (CULPRIT, REPAIR):
            opened.commits.add(Commit(source="git:/src", id=commit), CommitStatus.DONE)
        search, candidates = found(CULPRIT)
        reported = alarm(AlarmStage.REPORTED, change("5f2b5f2b-mv2"))
        reported = reported.model_copy(update={"search": search, "candidates": candidates})
        opened.alarms.open(reported.change, 1.0)
        opened.alarms.update(reported)
        opened.deliveries.queue(reported, AlarmEvent.BISECTED, ["hook"], 1.0)
        yield opened


def alarms(state: State, *words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["alarms", *words, "--state", str(state.path)])
    return int(str(ended.value.code or 0))


def test_an_alarm_is_listed_closed_and_opened_again(state: State, capsys: pytest.CaptureFixture[str]) -> None:
    assert alarms(state) == 0
    shown = capsys.readouterr().out
    assert "5f2b5f2b " in shown
    assert "736ae249736a" in shown
    assert alarms(state, "close", "736ae249", "--by", "b4b4b4b4", "--reason", "faster\nloop") == 0
    shown = capsys.readouterr().out
    assert "closed: 5f2b5f2b-mv2: mv2/xnnpack on board (736ae249736a)" in shown
    assert "hook gets a message: the watcher sends it after its next poll" in shown
    (closed,) = state.alarms.in_stages(AlarmStage.CLOSED)
    assert closed.reason.startswith("repaired by b4b4b4b4b4b4, closed by ")
    assert closed.reason.endswith(": faster loop")
    assert alarms(state) == 0
    assert "no alarm is open" in capsys.readouterr().out
    assert alarms(state, "list", "--closed") == 0
    assert "5f2b5f2b " in capsys.readouterr().out
    assert alarms(state, "reopen", "5f2b5f2b-mv2", "--reason", "no, it is slow") == 0
    assert "open again: 5f2b5f2b-mv2" in capsys.readouterr().out
    waiting = [entry.notification.event for entry in state.deliveries.with_status(DeliveryStatus.WAITING)]
    assert waiting == [AlarmEvent.BISECTED, AlarmEvent.CLOSED, AlarmEvent.REOPENED]


def test_pages_of_an_alarm_are_no_receivers_of_messages(state: State, capsys: pytest.CaptureFixture[str]) -> None:
    for identity, channels in (("aaaa1111", ["report", "report page"]), ("bbbb2222", ["report", "hook 2", "command"])):
        changed = change(identity)
        state.alarms.open(changed, 1.0)
        state.deliveries.queue(alarm(AlarmStage.REPORTED, changed), AlarmEvent.CONFIRMED, channels, 1.0)
    assert alarms(state, "close", "aaaa1111", "--reason", "wanted") == 0
    shown = capsys.readouterr().out
    assert "nobody gets a message" in shown
    assert "the watcher writes its reports anew" in shown
    assert alarms(state, "close", "bbbb2222", "--reason", "wanted") == 0
    assert "hook 2, command get a message" in capsys.readouterr().out


def test_an_alarm_is_closed_by_what_the_list_shows_on_a_narrow_screen(state: State) -> None:
    for identity in ("e078a3cd09577f88-5be2c0a1", "e078a3cd0ffffff8-5be2c0a1"):
        state.alarms.open(change(identity, benchmark="a-benchmark-with-a-long-name", device="a-long-device"), 2.0)
    shown = io.StringIO()
    screen = Console(file=shown, width=40, force_terminal=True, color_system=None)
    assert flow.list_alarms(state.path, screen, with_closed=False) == 0
    names = [line.split()[0] for line in shown.getvalue().splitlines() if line.startswith("e078")]
    assert names == ["e078a3cd09", "e078a3cd0f"]
    assert alarms(state, "close", names[1], "--reason", "wanted") == 0
    (closed,) = state.alarms.in_stages(AlarmStage.CLOSED)
    assert closed.identity == "e078a3cd0ffffff8-5be2c0a1"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("close",), "close which alarm, and why?"),
        (("close", "5f2b5f2b"), "close which alarm, and why?"),
        (("close", "5f2b5f2b", "--reason", "  "), "close which alarm, and why?"),
        (("close", "5f2b5f2b", "--closed", "--reason", "x"), "--closed beside close"),
        (("close", "nothing", "--reason", "x"), "there is no alarm nothing"),
        (("close", "5f2b5f2b", "--by", "ffff", "--reason", "x"), "the watcher knows no such commit"),
        (("reopen", "5f2b5f2b", "--reason", "x"), "is open already"),
        (("reopen", "5f2b5f2b", "--by", "b4b4", "--reason", "x"), "--by beside reopen"),
        (("list", "5f2b5f2b"), "a list takes no alarm"),
        (("list", "--reason", "x"), "a list takes no alarm"),
    ],
)
def test_mistakes_change_nothing(
    state: State, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], problem: str
) -> None:
    assert alarms(state, *words) == 2
    assert problem in capsys.readouterr().err
    assert not state.alarms.in_stages(AlarmStage.CLOSED)
    assert len(state.deliveries.with_status(DeliveryStatus.WAITING)) == 1
