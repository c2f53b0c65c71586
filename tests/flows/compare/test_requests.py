"""Lists of commits that a request names."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.flows.compare.requests import CompareRequest, name_programs, split_treatments
from harness.flows.measure.runners import Programs


class EndlessInput(io.RawIOBase):
    """Standard input that never ends, as `yes |` makes it."""

    def __init__(self) -> None:
        self.sent = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        buffer[:] = b"y\n" * (len(buffer) // 2) + b"y" * (len(buffer) % 2)
        self.sent += len(buffer)
        return len(buffer)


def treatments(monkeypatch: pytest.MonkeyPatch, source: io.RawIOBase | None) -> list[object]:
    text = io.TextIOWrapper(io.BufferedReader(source)) if source is not None else None
    monkeypatch.setattr(sys, "stdin", text)
    return [request.treatment for request in split_treatments(CompareRequest(treatment="-"), Settings())]


def test_commits_are_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc # newest\n\n def\n")))
    requests = split_treatments(CompareRequest(treatment="-"), Settings())
    assert [request.treatment for request in requests] == ["abc", "def"]


def test_standard_input_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = EndlessInput()
    with pytest.raises(UsageError, match="standard input is not a list of commits: it is longer than 1 MiB"):
        treatments(monkeypatch, endless)
    assert endless.sent < 1 << 22


def test_a_closed_standard_input_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="it is closed"):
        treatments(monkeypatch, None)


def test_a_long_file_is_no_list_of_commits(tmp_path: Path) -> None:
    file = tmp_path / "commits.txt"
    file.write_bytes(b"abc\n" * (1 << 19))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        split_treatments(CompareRequest(source="git:.", treatment=str(file)), Settings())


@pytest.mark.parametrize(
    ("control", "treatment", "names"),
    [
        ("base/fast", "base/slow", ("fast", "slow")),
        ("old/bin/run", "new/bin/run", ("old/bin/run", "new/bin/run")),
        ("a/../b/run", "c/run", ("b/run", "c/run")),
    ],
)
def test_given_programs_are_named_by_what_tells_them_apart(
    tmp_path: Path, control: str, treatment: str, names: tuple[str, str]
) -> None:
    sides = name_programs(Programs({"program": tmp_path / control}), Programs({"program": tmp_path / treatment}))
    assert tuple(side.name for side in sides) == names


def test_a_path_that_is_given_twice_has_one_name(tmp_path: Path) -> None:
    both = Programs({"program": tmp_path / "run"})
    first, second = name_programs(both, both)
    assert first.name == second.name == str(tmp_path / "run")


def test_sides_without_runners_keep_their_names() -> None:
    app = Programs({"app": Path("speed.apk")})
    assert name_programs(app, app) == (app, app)
