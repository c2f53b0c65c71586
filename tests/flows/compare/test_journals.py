"""Journals: their contents, and truncated, damaged or unwritable files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.comparison import STATISTICS, Interleave, Pair
from harness.core.device import Device
from harness.core.measurement import Job
from harness.flows.compare.comparison_run import ComparisonSubject
from harness.flows.compare.journal import Header, Journal, LostLaunches
from tests.flows.instant import benchmark
from tests.presentation.comparison_samples import made_pairs

CONTROL, TREATMENT = (Build(source="prebuilt", commit=name, digest=name) for name in ("old", "new"))
HEADER = Header(seed=7, metric="NET latency", unit="us", statistics=STATISTICS)
LOST = LostLaunches(seconds=2.5, doubt="the treatment crashed")
PAIRS = made_pairs(0.02, 4)


def journal(folder: Path) -> Journal:
    return Journal(folder, "subject", CONTROL, TREATMENT)


def written(folder: Path) -> Path:
    """Write a journal with four pairs, a discarded one and a report."""
    writing = journal(folder)
    writing.start(HEADER)
    for pair in PAIRS:
        writing.append_pair(pair, None, LostLaunches())
    writing.append_discarded(4, LOST)
    writing.record_report("/results/1")
    (file,) = folder.glob("*.jsonl")
    return file


def unlaunched(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    return tuple(
        pair_without_launches.model_copy(update={"control_launch": None, "treatment_launch": None})
        for pair_without_launches in pairs
    )


def test_a_journal_is_read_back_completely(tmp_path: Path) -> None:
    written(tmp_path)
    contents = journal(tmp_path).read()
    assert contents is not None
    assert contents.header == HEADER
    assert contents.pairs == unlaunched(PAIRS)
    assert (contents.discarded, contents.next_index, contents.failed, contents.report_places) == (
        1,
        5,
        False,
        ("/results/1",),
    )
    assert contents.lost == LOST
    assert journal(tmp_path).report_places() == ("/results/1",)


def test_a_missing_journal_has_no_contents(tmp_path: Path) -> None:
    assert journal(tmp_path).read() is None
    assert journal(tmp_path).report_places() == ()


def test_a_failure_is_stored(tmp_path: Path) -> None:
    written(tmp_path)
    again = journal(tmp_path)
    again.read()
    again.record_failure()
    contents = journal(tmp_path).read()
    assert contents is not None
    assert contents.failed


def test_a_comparison_that_never_began_leaves_no_journal(tmp_path: Path) -> None:
    journal(tmp_path).record_failure()
    assert list(tmp_path.iterdir()) == []


@given(st.integers(min_value=0))
def test_a_truncated_journal_has_the_pairs_before_the_cut(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("cut")
    file = written(folder)
    whole = file.read_bytes()
    kept = whole[: cut % (len(whole) + 1)]
    file.write_bytes(kept)
    lines = kept.count(b"\n")
    cutting = journal(folder)
    contents = cutting.read()
    assert cutting.notes == ()
    assert (contents.pairs if contents else ()) == unlaunched(PAIRS[: max(0, lines - 1)])
    assert file.read_bytes() == kept[: kept.rfind(b"\n") + 1]
    cutting.append_pair(PAIRS[0], None, LostLaunches())
    again = journal(folder).read()
    assert (again is not None) == (lines > 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole + b"\xff\xfe\x80",
        lambda whole: whole.replace(b'"index":1', b'"index":\xff'),
        lambda whole: whole.partition(b"\n")[2],
        lambda whole: whole + whole,
        lambda whole: whole.replace(b'"control":[', b'"control":[0.0,'),
        lambda whole: b"\x00" * len(whole),
    ],
    ids=["bytes behind it", "bytes within it", "no header", "two of them", "a figure too many", "zeros"],
)
def test_a_damaged_journal_is_set_aside_with_a_note(tmp_path: Path, damage: object) -> None:
    file = written(tmp_path)
    assert callable(damage)
    broken = damage(file.read_bytes())
    file.write_bytes(broken)
    assert journal(tmp_path).report_places() == ()
    reading = journal(tmp_path)
    assert reading.read() is None
    (note,) = reading.notes
    assert note.code == "damaged_journal"
    aside = file.with_suffix(".damaged")
    assert str(aside) in note.message
    assert aside.read_bytes() == broken
    reading.start(HEADER)
    reading.append_pair(PAIRS[0], None, LostLaunches())
    contents = journal(tmp_path).read()
    assert contents is not None
    assert contents.pairs == unlaunched(PAIRS[:1])


def test_an_unwritable_journal_causes_a_note(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.unlink()
    file.mkdir()
    (file / "inside").touch()
    file.with_suffix(".damaged").write_text("in the way")
    reading = journal(tmp_path)
    assert reading.read() is None
    reading.start(HEADER)
    assert [note.code for note in reading.notes] == ["journal", "damaged_journal"]


def _subject(md5: str) -> ComparisonSubject:
    file = CachedFile(key="files.model", filename="m", path=Path("/m"), md5=md5, size_bytes=1, source="")
    control, treatment = (Job(benchmark("a"), build, {"files.model": file}) for build in (CONTROL, TREATMENT))
    return ComparisonSubject(control, treatment, Device(platform="host", identity="here", name="here"))


def test_pairs_of_another_model_file_are_ignored(tmp_path: Path) -> None:
    pair_without_launches = _subject("1").journal(tmp_path, Interleave.LAUNCH)
    pair_without_launches.start(HEADER)
    pair_without_launches.append_pair(PAIRS[0], None, LostLaunches())
    assert _subject("2").journal(tmp_path, Interleave.LAUNCH).read() is None
    assert _subject("1").journal(tmp_path, Interleave.PROCESS).read() is None
    assert _subject("1").journal(tmp_path, Interleave.LAUNCH).read() is not None
