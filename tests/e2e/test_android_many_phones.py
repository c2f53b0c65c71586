"""Twenty phones, two hundred benchmarks, two harnesses: nothing lost, nothing twice, never two on one phone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from harness.testing.phones.android.lab import PhoneLab
from tests.cli.project import Project, generic, one_test
from tests.e2e.desk import Desk, program_starts

pytestmark = pytest.mark.slow

BENCHMARKS = 200


@pytest.fixture
def desk(many_phones: PhoneLab, tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(many_phones, Project(tmp_path, tmp_path / "cache"))
    yield opened
    opened.tidy()


@pytest.mark.exhaustive
def test_two_harnesses_share_twenty_phones(desk: Desk, witness: Path, tmp_path: Path) -> None:
    test = one_test("t{number}", "{program} t{number} 0.{number}", matrix={"number": list(range(BENCHMARKS))})
    many = desk.project.write("many.json", generic(test))
    second_desk = Desk(desk.lab, Project(tmp_path / "other", tmp_path / "other" / "cache"))
    few = second_desk.project.write(
        "few.json", generic(*(one_test(f"x{number}", f"{{program}} x{number} 0.2") for number in range(5)))
    )
    shared = desk.phones[:6]
    with (
        desk.running("-b", many, "--program", witness, "--spread") as everywhere,
        second_desk.running("-b", few, "--program", witness, on=",".join(phone.serial for phone in shared)) as on_some,
    ):
        done, beside = everywhere.outcome(), on_some.outcome()
    assert done.code == 0, done.stderr[-4000:]
    assert beside.code == 0, beside.stderr[-4000:]

    measured = Counter(result["benchmark"]["identifier"] for result in done.read())
    assert measured == Counter(f"t{number}" for number in range(BENCHMARKS))
    assert {result["outcome"] for result in done.read()} == {"ok"}
    started = {phone.serial: program_starts(phone) for phone in desk.phones}
    counts = Counter(start.name for starts in started.values() for start in starts)
    assert Counter({name: count for name, count in counts.items() if name.startswith("t")}) == measured
    for result in done.read():
        names = [start.name for start in started[result["device"]["name"]]]
        assert result["benchmark"]["identifier"] in names, "it ran where its result says"
    assert all(
        {f"x{number}" for number in range(5)} <= {start.name for start in started[phone.serial]} for phone in shared
    )
    for starts in started.values():
        assert starts, "every phone did something"
        assert all(start.ended is not None and start.ended <= after.began for start, after in pairwise(starts))
