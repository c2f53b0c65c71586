"""How `harness doctor` shows what it found."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness import plugins
from harness.config.settings import Settings
from harness.flows.inspect import doctor


def test_what_was_found_is_shown_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "names", lambda kind: ())
    in_the_way = tmp_path / "[bold]results"
    in_the_way.write_text("a file")
    settings = Settings(cache_dir=tmp_path / "[red]cache[/]", local_reporter=in_the_way)
    console = Console(file=io.StringIO(), width=400)
    doctor.examine(settings, console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert f"{settings.cache_dir}, " in shown
    assert f"{in_the_way}: " in shown
