from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.files.eviction import SPARE_BYTES, StoreContents, StoredItem, select_evictions
from platforms.android.files.store import _stamps_by_path
from platforms.android.launch.script import STAMP_MARK
from platforms.android.link.phone import Phone
from platforms.android.session import AndroidSession
from tests.platforms.android.conftest import MakePlatform

SH = "/system/bin/sh"
OWN = "/data/local/tmp/edge-harness"

ENTRIES = st.dictionaries(
    st.text("abc", min_size=1), st.builds(StoredItem, st.integers(0, 1 << 34), st.floats(0, 1e9)), max_size=20
)


@given(entries=ENTRIES, need=st.integers(0, 1 << 34), free=st.none() | st.integers(0, 1 << 36), data=st.data())
def test_least_recently_used_items_are_evicted_and_no_more_than_needed(
    entries: dict[str, StoredItem], need: int, free: int | None, data: st.DataObject
) -> None:
    in_use = data.draw(st.sets(st.sampled_from(sorted(entries)))) if entries else set()
    evicted = select_evictions(StoreContents(entries, free), need, in_use, most_bytes=1 << 34)
    assert not in_use & set(evicted)
    remaining = [entry.last_used for place, entry in entries.items() if place not in evicted and place not in in_use]
    assert all(entries[place].last_used <= used for place in evicted for used in remaining)

    def has_room(places: list[str]) -> bool:
        freed = sum(entries[place].size_bytes for place in places)
        total = sum(entry.size_bytes for entry in entries.values())
        left_bytes = total - freed + need
        if free is None:
            return left_bytes <= 1 << 34
        return left_bytes <= min(1 << 34, (free + total) // 2, free + total - SPARE_BYTES)

    assert has_room(evicted) or not remaining
    assert not evicted or not has_room(evicted[:-1])


def test_store_contents_are_parsed() -> None:
    text = (
        "Filesystem     1K-blocks  Used Available Use% Mounted on\n"
        "/dev/block/dm-5   1000000 600000    400000  60% /data\n"
        "10 100 store/aa\n"
        "20 200 programs/bb/run ner\n"
        "30 150 programs/bb/lib.so\n"
    )
    contents = StoreContents.parse(text)
    assert contents.free_bytes == 400_000 * 1024
    assert contents.items == {"store/aa": StoredItem(10, 100.0), "programs/bb": StoredItem(50, 200.0)}


@pytest.mark.parametrize("zone", ["", " +0000"], ids=["of older toybox", "with a zone"])
def test_names_with_blanks_are_separated_from_their_stamps(zone: str) -> None:
    when = f"2024-01-01 00:00:00.000000000{zone}"
    line = f"/x/my model.pte{STAMP_MARK}64768 12 5 {when} {when}"
    assert _stamps_by_path(f"{line}\n") == {"/x/my model.pte": line}


@given(st.text())
def test_other_lines_are_skipped(text: str) -> None:
    StoreContents.parse(text)


@pytest.mark.slow
def test_a_file_is_transferred_once(
    lab: PhoneLab, make_platform: MakePlatform, stand_in: StandInPhone, tmp_path: Path
) -> None:
    (tmp_path / "model").write_bytes(b"once and for all")
    (tmp_path / "again").write_bytes(b"once and for all")
    platform = make_platform(lab)
    trips = []
    for name in ("model", "again"):
        with platform.open(platform.devices()[0], RecordedProgress()) as session:
            stand_in.round_trips = 0
            session.stage({name: tmp_path / name}, {})
            trips.append(stand_in.round_trips)
    assert trips == [2, 1]


@pytest.mark.slow
def test_a_file_that_was_damaged_on_the_phone_is_transferred_again(
    lab: PhoneLab, make_platform: MakePlatform, phone: Phone, tmp_path: Path
) -> None:
    (tmp_path / "model").write_bytes(b"to be damaged")
    (tmp_path / "program").write_text(f"#!{SH}\necho good\n")
    platform = make_platform(lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        session.stage({"model": tmp_path / "model"}, {"program": tmp_path / "program"})
    damage = 'for file in store/* programs/*/*; do chmod 600 "$file"; echo damaged >"$file"; done'
    assert phone.sh(f"cd {OWN} && {damage}").exit_code == 0
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        staged = session.stage({"model": tmp_path / "model"}, {"program": tmp_path / "program"})
        assert session.run(Command(("/system/bin/cat", staged.files["model"]))).stdout == "to be damaged"
        assert session.run(Command((staged.programs["program"],))).stdout == "good\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil",
    ['chmod 600 "$1"; echo spoilt >"$1"', 'rm "$1"; echo spoilt >"$1"', 'rm "$1"', 'rm "$(readlink "$1")"'],
    ids=["changed", "replaced", "removed", "removed in the store"],
)
def test_a_program_that_changes_a_file_is_noticed(session: AndroidSession, tmp_path: Path, spoil: str) -> None:
    (tmp_path / "model").write_bytes(b"precious")
    staged = session.stage({"model": tmp_path / "model"}, {})
    assert session.run(Command(("/system/bin/cat", staged.files["model"]))).ok
    with pytest.raises(BenchmarkFailed, match="model was changed"):
        session.run(Command((SH, "-c", spoil, "sh", staged.files["model"])))
    again = session.stage({"model": tmp_path / "model"}, {})
    assert session.run(Command(("/system/bin/cat", again.files["model"]))).stdout == "precious"


@pytest.mark.slow
def test_programs_are_stored_together_and_find_their_libraries(session: AndroidSession, tmp_path: Path) -> None:
    (tmp_path / "runner").write_text(f'#!{SH}\nls "$LD_LIBRARY_PATH"; echo "$LD_LIBRARY_PATH"\n')
    (tmp_path / "libdelegate.so").write_text("library")
    programs = {"program": tmp_path / "runner", "delegate": tmp_path / "libdelegate.so"}
    staged = session.stage({}, programs)
    folder = staged.programs["program"].rpartition("/")[0]
    assert staged.programs["delegate"] == f"{folder}/libdelegate.so"
    assert session.run(Command((staged.programs["program"],))).stdout == f"libdelegate.so\nrunner\n{folder}\n"
    named = session.run(Command((staged.programs["program"],), env={"LD_LIBRARY_PATH": "/x"}))
    assert named.stdout == f"/x:{folder}\n"
    alone = session.stage({}, {"program": tmp_path / "runner"})
    assert session.run(Command((alone.programs["program"],))).stdout == "\n"


@pytest.mark.slow
def test_a_program_that_is_changed_while_it_is_used_is_noticed(session: AndroidSession, tmp_path: Path) -> None:
    (tmp_path / "runner").write_text(f'#!{SH}\nchmod 700 "$0"; echo "# more" >>"$0"\n')
    staged = session.stage({}, {"program": tmp_path / "runner"})
    with pytest.raises(BenchmarkFailed, match="runner was changed"):
        session.run(Command((staged.programs["program"],)))


@pytest.mark.slow
def test_invalid_names_are_refused(session: AndroidSession, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "runner").write_text("1")
    (tmp_path / "runner").write_text("2")
    for name in ("../outside", "/absolute", "two\nlines"):
        with pytest.raises(BenchmarkFailed, match="cannot be a file's name"):
            session.stage({name: tmp_path / "runner"}, {})
    with pytest.raises(BenchmarkFailed, match="two different programs"):
        session.stage({}, {"program": tmp_path / "runner", "other": tmp_path / "a" / "runner"})
    with pytest.raises(EnvironmentProblem, match="no such program"):
        session.stage({}, {"program": tmp_path / "missing"})


@pytest.mark.slow
def test_only_the_store_stays_and_other_files_are_untouched(
    lab: PhoneLab, make_platform: MakePlatform, phone: Phone, stand_in: StandInPhone, tmp_path: Path
) -> None:
    phone.sh(f"mkdir -p {OWN}/sessions/killed/0; echo mine >/data/local/tmp/mine; echo x >{OWN}/sessions/killed/0/file")
    (tmp_path / "file").write_text("kept")
    platform = make_platform(lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        staged = session.stage({"file": tmp_path / "file"}, {})
        assert not stand_in.exists(f"{OWN}/sessions/killed")
        assert stand_in.exists(staged.folder)
    assert phone.sh(f"ls {OWN}/sessions").stdout == ""
    assert stand_in.read("/data/local/tmp/mine") == "mine\n"


@pytest.mark.slow
def test_items_are_evicted_from_a_full_phone_and_a_lack_of_space_is_reported(
    broken_lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / str(number)).write_bytes(bytes([number]) * 1_000_000)
    platform = make_platform(broken_lab)
    device = platform.devices()[0]
    for name in ("0", "1"):
        with platform.open(device, RecordedProgress()) as session:
            session.stage({name: tmp_path / name}, {})
    broken_lab.phones[0].fill(500_000)
    with platform.open(device, RecordedProgress()) as session:
        staged = session.stage({"2": tmp_path / "2"}, {})
        assert session.run(Command(("/system/bin/wc", "-c", staged.files["2"]))).stdout.split()[0] == "1000000"
    (tmp_path / "large").write_bytes(bytes(10_000_000))
    with (
        platform.open(device, RecordedProgress()) as session,
        pytest.raises(EnvironmentProblem, match="no space left"),
    ):
        session.stage({"large": tmp_path / "large"}, {})
