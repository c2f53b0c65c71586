"""The index of the tree: what it tells, and that it survives whatever happens to it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from harness.core.result import Outcome, Result
from harness.files.locks import FileLock
from harness.store.canonical_json import load_result
from harness.store.index import read_index, rebuild_index
from harness.store.known_devices import was_measured_on
from harness.testing.results import STARTED, failed_result, noisy_result, ok_result, report_of
from reporters.local import LocalReporter


def _keep(folder: Path, result: Result) -> Path:
    return Path(LocalReporter(folder).report(report_of(result)))


def test_the_index_has_what_a_list_shows(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result(uid="one"))
    _keep(tmp_path, failed_result(uid="two", device=None, build=None))
    _keep(tmp_path, noisy_result(uid="three"))
    first, second, third = read_index(tmp_path).entries
    assert (first.uid, first.model, first.device, first.commit) == ("one", "mv2", "machine-4f2a", "1.5.1")
    assert first.trusted
    assert (first.metric, first.median, first.unit) == ("NET latency", 0.81375, "ms")
    assert (second.outcome, second.device, second.commit, second.median) == (Outcome.CRASHED, None, None, None)
    assert not second.trusted
    assert (third.outcome, third.trusted) == (Outcome.OK, False)
    assert load_result(tmp_path / first.path).uid == "one"


def test_devices_that_were_measured_are_known_by_identity_and_name(tmp_path: Path) -> None:
    result = ok_result()
    assert result.device is not None
    phone = result.device.model_copy(update={"identity": "R5CT+cortex-a76", "name": "192.168.1.5:5555"})
    _keep(tmp_path, result.model_copy(update={"device": phone}))
    names = ("R5CT+cortex-a76", "R5CT", "192.168.1.5:5555", "R5C", "1.5.1", "")
    assert [was_measured_on(tmp_path, name) for name in names] == [True, True, True, False, False, False]
    assert not was_measured_on(tmp_path / "none", "R5CT")


def test_without_latency_the_next_best_metric_stands_in_the_index(tmp_path: Path) -> None:
    metrics = ok_result().metrics
    for some in (metrics[1:], metrics[2:], metrics[3:]):
        _keep(tmp_path, ok_result().model_copy(update={"metrics": some}))
    assert [entry.metric for entry in read_index(tmp_path).entries] == ["NET load_time", "NET top1", None]


def test_a_lost_index_is_rebuilt(tmp_path: Path) -> None:
    for i in range(3):
        _keep(tmp_path, ok_result(uid=str(i), started=1_760_000_000.0 + i))
    before = read_index(tmp_path).entries
    (tmp_path / "index.jsonl").unlink()
    assert read_index(tmp_path).entries == before
    assert (tmp_path / "index.jsonl").exists()


def test_a_truncated_line_swallows_no_other_and_is_repaired(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result(uid="one"))
    index = tmp_path / "index.jsonl"
    index.write_bytes(index.read_bytes()[:-20])
    _keep(tmp_path, ok_result(uid="two"))
    assert [json.loads(line)["uid"] for line in index.read_text().splitlines()[1:]] == ["two"]
    assert {entry.uid for entry in read_index(tmp_path).entries} == {"one", "two"}


def test_a_result_that_is_indexed_twice_is_read_once(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result())
    index = tmp_path / "index.jsonl"
    index.write_bytes(index.read_bytes() * 2)
    assert len(read_index(tmp_path).entries) == 1


def test_rebuilding_names_the_results_that_cannot_be_read(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result(uid="whole"))
    damaged = _keep(tmp_path, ok_result(uid="damaged")) / "result.json"
    damaged.write_bytes(damaged.read_bytes()[:100])
    rebuilt = rebuild_index(tmp_path)
    assert [entry.uid for entry in rebuilt.entries] == ["whole"]
    assert rebuilt.unreadable == (damaged,)


def test_rebuilding_ignores_drafts_of_a_process_that_died(tmp_path: Path) -> None:
    place = _keep(tmp_path, ok_result())
    place.rename(place.parent / ".0123")
    assert rebuild_index(tmp_path).entries == ()


def test_a_result_whose_line_is_missing_is_listed_and_its_line_is_made(tmp_path: Path) -> None:
    places = [_keep(tmp_path, ok_result(uid=str(number), started=STARTED + number)) for number in range(3)]
    index = tmp_path / "index.jsonl"
    whole = index.read_text()
    index.write_text("".join(whole.splitlines(keepends=True)[::2]))
    for place in (places[0], places[2]):  # only what is missing is read
        (place / "result.json").write_text("changed since")
    assert [entry.uid for entry in read_index(tmp_path).entries] == ["0", "1", "2"]
    assert index.read_text() == whole


def test_a_line_that_is_cut_at_any_byte_costs_no_entry(tmp_path: Path) -> None:
    for number in range(3):
        _keep(tmp_path, ok_result(uid=str(number), started=STARTED + number))
    index = tmp_path / "index.jsonl"
    whole = index.read_bytes()
    for length in range(0, len(whole), 37):
        index.write_bytes(whole[:length])
        assert [entry.uid for entry in read_index(tmp_path).entries] == ["0", "1", "2"]
    assert index.read_bytes() == whole


def test_results_that_were_removed_are_listed_no_more(tmp_path: Path) -> None:
    places = [_keep(tmp_path, ok_result(uid=str(number))) for number in range(2)]
    shutil.rmtree(places[0])
    assert [entry.uid for entry in read_index(tmp_path).entries] == ["1"]


def test_a_gap_in_an_index_that_cannot_be_written_is_closed_for_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(tmp_path, ok_result(uid="one"))
    (tmp_path / "index.jsonl").write_text("")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("harness.store.index.write_atomically", refuse)
    assert [entry.uid for entry in read_index(tmp_path).entries] == ["one"]


def test_a_damaged_result_is_named_whenever_the_index_is_read(tmp_path: Path) -> None:
    damaged = _keep(tmp_path, ok_result()) / "result.json"
    (tmp_path / "index.jsonl").unlink()
    damaged.write_text("{")
    assert [read_index(tmp_path).unreadable for _ in range(2)] == [(damaged,), (damaged,)]


def test_no_results_are_an_empty_index(tmp_path: Path) -> None:
    assert read_index(tmp_path / "never").entries == ()
    assert not (tmp_path / "never").exists()


def test_appending_waits_for_the_lock(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / ".index.lock")
    lock.acquire()
    reported = threading.Thread(target=_keep, args=(tmp_path, ok_result()))
    reported.start()
    reported.join(0.3)
    assert reported.is_alive()
    lock.release()
    reported.join()
    assert len(read_index(tmp_path).entries) == 1
