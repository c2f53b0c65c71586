"""The tree of results, its index, and how names become folders."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.result import Outcome, RawLog, Report, Result
from harness.settings import Settings
from harness.testing.results import BUILD, DEVICE, failed_result, noisy_result, ok_result, report_of
from reporters.local import LocalReporter, create, load, publish, read_index, rebuild_index, segment

_REPORT_MANY = """
import sys
from pathlib import Path
from harness.testing.results import ok_result, report_of
from reporters.local import LocalReporter
reporter = LocalReporter(Path(sys.argv[1]))
for i in range(int(sys.argv[2])):
    reporter.report(report_of(ok_result(), stdout=f"line {i}"))
"""


def _keep(folder: Path, result: Result, **logs: str) -> Path:
    return Path(LocalReporter(folder).report(report_of(result, **logs)))


def _draft_names(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*") if path.name != ".index.lock"]


def test_it_is_always_on(tmp_path: Path) -> None:
    assert create(Settings(local_reporter=tmp_path)) is not None


def test_the_path_is_fai_peps_hierarchy(tmp_path: Path) -> None:
    place = _keep(tmp_path, ok_result())
    assert place.relative_to(tmp_path).as_posix() == (
        "Example%20CPU%20@%202.10GHz/executorch/mv2/delay/mv2-xnnpack_fp32-t1/2025/10/02/1.5.1/0"
    )


def test_without_a_commit_time_the_date_is_that_of_the_measurement(tmp_path: Path) -> None:
    build = BUILD.model_copy(update={"commit_time": None})
    assert _keep(tmp_path, ok_result(build=build)).parts[-5:] == ("2025", "10", "09", "1.5.1", "0")


@pytest.mark.parametrize("seconds", [-1, 0, 10**18])
def test_an_absurd_commit_time_costs_no_result(tmp_path: Path, seconds: int) -> None:
    place = _keep(tmp_path, ok_result(build=BUILD.model_copy(update={"commit_time": seconds})))
    assert place.parts[-5:-2] == (("9999", "12", "31") if seconds > 0 else ("1970", "01", "01"))


def test_without_device_or_build_the_path_says_so(tmp_path: Path) -> None:
    place = _keep(tmp_path, failed_result(Outcome.SKIPPED, device=None, build=None))
    parts = place.relative_to(tmp_path).parts
    assert (parts[0], parts[-2]) == ("no-device", "no-commit")


@pytest.mark.parametrize(
    ("name", "kind", "folder"), [("", "Pixel 8", "Pixel%208"), ("null", "", "host"), (" ", "", "host")]
)
def test_the_device_folder_is_never_empty_or_null(tmp_path: Path, name: str, kind: str, folder: str) -> None:
    device = DEVICE.model_copy(update={"name": name, "kind": kind})
    assert _keep(tmp_path, ok_result(device=device)).relative_to(tmp_path).parts[0] == folder


def test_a_result_reads_back_equal(tmp_path: Path) -> None:
    result = ok_result(meta={"nested": {"list": [1, 2.5, None, "ü"]}})
    place = _keep(tmp_path, result)
    assert load(place) == result
    assert load(place / "result.json") == result


def test_the_file_is_exactly_the_canonical_result(tmp_path: Path) -> None:
    result = ok_result()
    text = (_keep(tmp_path, result) / "result.json").read_text(encoding="utf-8")
    assert json.loads(text) == result.model_dump(mode="json")
    assert text.count("\n") > 50


def test_logs_are_kept_as_they_were_written(tmp_path: Path) -> None:
    place = _keep(tmp_path, ok_result(), **{"launch-0.stdout": "a\r\nb\n", "../odd": "x"})
    assert (place / "logs" / "launch-0.stdout.txt").read_bytes() == b"a\r\nb\n"
    assert (place / "logs" / "%2E.%2Fodd.txt").read_bytes() == b"x"


def test_logs_of_one_name_are_all_kept(tmp_path: Path) -> None:
    logs = tuple(RawLog(name="stdout", text=text) for text in ("one", "two", "three"))
    place = Path(LocalReporter(tmp_path).report(Report(result=ok_result(), logs=logs)))
    assert sorted(path.read_text() for path in (place / "logs").iterdir()) == ["one", "three", "two"]


def test_numbers_count_on(tmp_path: Path) -> None:
    assert [_keep(tmp_path, ok_result()).name for _ in range(12)] == [str(n) for n in range(12)]


def test_a_number_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    first = _keep(tmp_path, ok_result())
    (first.parent / "1").write_text("somebody's file")
    assert _keep(tmp_path, ok_result()).name == "2"
    assert (first.parent / "1").read_text() == "somebody's file"


def test_a_folder_is_published_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        publish(tmp_path / "results", {"a": "written", "a/b": "cannot be: a is a file"})
    assert list((tmp_path / "results").iterdir()) == []
    assert publish(tmp_path / "results", {"a": "written"}).name == "0"


def test_text_that_json_cannot_hold_is_a_failure_that_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(ReporterFailed, match="no JSON form"):
        LocalReporter(tmp_path).report(Report(result=ok_result().model_copy(update={"reason": "\udcff"})))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReporterFailed, match="Not a directory") as failure:
        LocalReporter(tmp_path / "file").report(report_of(ok_result()))
    assert "--local_reporter" in (failure.value.hint or "")


def test_an_index_that_cannot_be_written_does_not_cost_the_result(tmp_path: Path) -> None:
    (tmp_path / "index.jsonl").mkdir()
    with pytest.raises(ReporterFailed, match="is kept in") as failure:
        LocalReporter(tmp_path).report(report_of(ok_result(uid="kept")))
    assert "index.jsonl" in (failure.value.hint or "")
    assert [load(path).uid for path in tmp_path.rglob("result.json")] == ["kept"]


def test_the_index_has_what_a_list_shows(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result(uid="one"))
    _keep(tmp_path, failed_result(uid="two", device=None, build=None))
    _keep(tmp_path, noisy_result(uid="three"))
    one, two, three = read_index(tmp_path)
    assert (one.uid, one.model, one.device, one.commit, one.trusted) == ("one", "mv2", "machine-4f2a", "1.5.1", True)
    assert (one.metric, one.median, one.unit) == ("NET latency", 0.81375, "ms")
    assert (two.outcome, two.device, two.commit, two.median, two.trusted) == (Outcome.CRASHED, None, None, None, False)
    assert (three.outcome, three.trusted) == (Outcome.OK, False)
    assert load(tmp_path / one.path).uid == "one"


def test_without_latency_the_first_metric_with_a_median_stands_in_the_index(tmp_path: Path) -> None:
    result = ok_result()
    _keep(tmp_path, result.model_copy(update={"metrics": tuple(reversed(result.metrics[1:]))}))
    assert read_index(tmp_path)[0].metric == "NET top1"


def test_a_lost_index_is_made_again(tmp_path: Path) -> None:
    for i in range(3):
        _keep(tmp_path, ok_result(uid=str(i), started=1_760_000_000.0 + i))
    before = read_index(tmp_path)
    (tmp_path / "index.jsonl").unlink()
    assert read_index(tmp_path) == before
    assert (tmp_path / "index.jsonl").exists()


def test_a_cut_line_swallows_no_other_and_is_mended(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result(uid="one"))
    index = tmp_path / "index.jsonl"
    index.write_bytes(index.read_bytes()[:-20])
    _keep(tmp_path, ok_result(uid="two"))
    assert [json.loads(line)["uid"] for line in index.read_text().splitlines()[1:]] == ["two"]
    assert {entry.uid for entry in read_index(tmp_path)} == {"one", "two"}


def test_a_result_that_stands_in_the_index_twice_is_read_once(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result())
    index = tmp_path / "index.jsonl"
    index.write_bytes(index.read_bytes() * 2)
    assert len(read_index(tmp_path)) == 1


def test_rebuilding_names_the_results_that_cannot_be_read(tmp_path: Path) -> None:
    _keep(tmp_path, ok_result(uid="whole"))
    damaged = _keep(tmp_path, ok_result(uid="damaged")) / "result.json"
    damaged.write_bytes(damaged.read_bytes()[:100])
    rebuilt = rebuild_index(tmp_path)
    assert [entry.uid for entry in rebuilt.entries] == ["whole"]
    assert rebuilt.unreadable == (damaged,)


def test_rebuilding_passes_over_drafts_of_a_process_that_died(tmp_path: Path) -> None:
    place = _keep(tmp_path, ok_result())
    place.rename(place.parent / ".0123")
    assert rebuild_index(tmp_path).entries == ()


def test_no_results_are_an_empty_index(tmp_path: Path) -> None:
    assert read_index(tmp_path / "never") == ()
    assert not (tmp_path / "never").exists()


def test_loading_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="No such file"):
        load(tmp_path / "0")
    (tmp_path / "result.json").write_text('{"schema_version": "9.0"}')
    with pytest.raises(EnvironmentProblem, match="schema_version"):
        load(tmp_path)


def test_appending_waits_for_the_lock(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / ".index.lock")
    lock.acquire()
    reported = threading.Thread(target=_keep, args=(tmp_path, ok_result()))
    reported.start()
    reported.join(0.3)
    assert reported.is_alive()
    lock.release()
    reported.join()
    assert len(read_index(tmp_path)) == 1


@pytest.mark.slow
def test_two_processes_never_share_a_folder_or_a_line(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _REPORT_MANY, str(tmp_path), "50"]
    processes = [subprocess.Popen(argv) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    folders = list(tmp_path.rglob("result.json"))
    lines = (tmp_path / "index.jsonl").read_text().splitlines()
    assert (len(folders), len(lines)) == (100, 100)
    assert {load(folder).uid for folder in folders} == {json.loads(line)["uid"] for line in lines}
    assert {folder.parent.name for folder in folders} == {str(n) for n in range(100)}
    assert _draft_names(tmp_path) == []


@settings(deadline=None)  # a busy machine is no defect
@given(st.text(st.characters()), st.text(st.characters()))
def test_different_names_are_different_segments(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) == (one == other)


@settings(deadline=None)  # a busy machine is no defect
@given(st.text(st.sampled_from("a%2E-./ü~"), max_size=400), st.text(st.sampled_from("a%2E-./ü~"), max_size=400))
def test_names_made_of_our_own_escapes_stay_different(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) == (one == other)


@settings(deadline=None)  # a busy machine is no defect
@given(st.text(st.characters()))
def test_a_segment_is_safe_everywhere(name: str) -> None:
    safe = segment(name)
    assert 0 < len(safe.encode("ascii")) <= 120
    assert not safe.startswith(".")
    assert not set(safe) & set("/\\:*?\"<>| \n\x00'$`!&;()[]{}#")


def test_long_names_with_one_beginning_stay_apart() -> None:
    assert segment("x" * 300) != segment("x" * 301)
    assert segment(segment("x" * 300)) != segment("x" * 300)


def test_ordinary_names_stay_as_they_are() -> None:
    assert segment("mv2-xnnpack_q8+t1.v2@host,a=b~") == "mv2-xnnpack_q8+t1.v2@host,a=b~"
