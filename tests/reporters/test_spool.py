"""Store and forward, without a network: what each answer does to an entry."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.errors import ReporterFailed
from harness.core.protocols import FlushOutcome
from harness.files.locks import FileLock
from reporters.remote.spool import OneByOne, SendResult, SendStatus, Spool

SENT = SendResult(SendStatus.SENT)
LATER = SendResult(SendStatus.KEPT, "later")
DOWN = SendResult(SendStatus.KEPT, "down", blocked=True, unreachable=True)
NEVER = SendResult(SendStatus.REFUSED, "never")


class Destination:
    """Answers by key, and remembers what it was sent."""

    def __init__(self, answers: dict[str, SendResult] | None = None) -> None:
        self.answers = answers or {}
        self.received: list[tuple[str, bytes]] = []

    def __call__(self, key: str, body: bytes, within_s: float) -> SendResult:
        self.received.append((key, body))
        return self.answers.get(key, SENT)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def _fill(spool: Spool, *uids: str) -> None:
    for age, uid in enumerate(uids):
        os.utime(spool.add(uid, uid.encode()), (age, age))


def _drain(spool: Spool, deliver: Callable[[str, bytes, float], SendResult], total_s: float = math.inf) -> FlushOutcome:
    return spool.drain(OneByOne(deliver), each_s=60.0, total_s=total_s)


def _send(spool: Spool, entry: Path, deliver: Callable[[str, bytes, float], SendResult], s: float = 1.0) -> SendResult:
    (result,) = spool.send([entry], OneByOne(deliver), s)
    return result


def test_an_entry_is_complete_on_disk_before_it_is_sent(spool: Spool) -> None:
    entry = spool.add("uid", b"body")
    assert (entry.stem, entry.read_bytes(), spool.waiting()) == ("uid", b"body", (entry,))
    assert [path.name for path in spool.folder.iterdir()] == ["uid.json"]


def test_the_same_uid_is_the_same_entry(spool: Spool) -> None:
    assert spool.add("uid", b"one") == spool.add("uid", b"two")
    assert len(spool.waiting()) == 1


def test_any_uid_is_a_file_name_and_a_header(spool: Spool) -> None:
    entry = spool.add("../ü", b"")
    assert entry.parent == spool.folder
    assert spool.waiting() == (entry,)
    assert entry.stem.isascii()


def test_entries_are_sent_oldest_first_and_removed(spool: Spool) -> None:
    _fill(spool, "c", "a", "b")
    destination = Destination()
    assert _drain(spool, destination) == FlushOutcome(sent=3)
    assert destination.received == [("c", b"c"), ("a", b"a"), ("b", b"b")]
    assert spool.waiting() == ()


def test_rejected_entries_are_kept_apart_with_the_reason_and_the_remaining_entries_are_sent(spool: Spool) -> None:
    _fill(spool, "a", "b", "c")
    assert _drain(spool, Destination({"b": NEVER})) == FlushOutcome(sent=2, refused=1, reasons=("never",))
    assert (spool.dead / "b.json").read_bytes() == b"b"
    assert (spool.dead / "b.reason.txt").read_text() == "never\n"
    assert spool.waiting() == ()


def test_kept_entries_wait_and_the_remaining_entries_are_sent(spool: Spool) -> None:
    _fill(spool, "a", "b", "c")
    outcome = _drain(spool, Destination({"a": LATER, "b": LATER}))
    assert outcome == FlushOutcome(sent=1, waiting=2, reasons=("later",))
    assert not outcome.is_complete


def test_a_blocked_destination_ends_sending(spool: Spool) -> None:
    _fill(spool, "a", "b", "c")
    destination = Destination({"b": DOWN})
    assert _drain(spool, destination) == FlushOutcome(sent=1, waiting=2, reasons=("down",))
    assert len(destination.received) == 2


def test_draining_ends_at_the_time_limit(spool: Spool) -> None:
    _fill(spool, "a", "b")
    outcome = _drain(spool, Destination(), total_s=0.0)
    assert (outcome.sent, outcome.waiting) == (0, 2)
    assert "takes longer" in outcome.reasons[0]


def test_an_empty_spool_creates_no_folder(spool: Spool) -> None:
    assert _drain(spool, Destination()) == FlushOutcome()
    assert not spool.folder.exists()


def test_an_entry_that_another_process_sent_is_not_sent_again(spool: Spool) -> None:
    entry = spool.add("uid", b"")
    entry.unlink()
    destination = Destination()
    assert _send(spool, entry, destination).status is SendStatus.SENT_BY_ANOTHER
    assert destination.received == []


def test_an_entry_rejected_for_another_process_is_not_a_success(spool: Spool) -> None:
    entry = spool.add("uid", b"")
    _send(spool, entry, Destination({"uid": NEVER}))
    assert _send(spool, entry, Destination()) == NEVER


def test_while_another_process_sends_an_entry_waits(spool: Spool) -> None:
    entry = spool.add("uid", b"")
    with FileLock(spool.folder / ".lock"):
        answer = _send(spool, entry, Destination(), 0.05)
    assert (answer.status, answer.blocked, answer.unreachable) == (SendStatus.KEPT, True, False)
    assert spool.waiting() == (entry,)


def test_two_concurrent_senders_send_each_entry_once(spool: Spool) -> None:
    _fill(spool, *(str(n) for n in range(20)))
    destination = Destination()
    outcomes: list[FlushOutcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(_drain(spool, destination))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(key) for key, _ in destination.received) == list(range(20))
    assert sum(outcome.sent for outcome in outcomes) == 20
    assert all(outcome.is_complete for outcome in outcomes)


def test_a_disk_error_is_a_failure_of_the_reporter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReporterFailed, match="cannot be used: File exists") as failure:
        Spool(tmp_path / "file").add("uid", b"")
    assert "--cache-dir" in (failure.value.hint or "")
