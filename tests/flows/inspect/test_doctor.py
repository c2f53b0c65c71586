"""Output of `harness doctor`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import ExitCode
from harness.flows.inspect import doctor


def test_what_was_found_is_shown_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed_names", lambda kind: ())
    in_the_way = tmp_path / "[bold]results"
    in_the_way.write_text("a file")
    settings = Settings(cache_dir=tmp_path / "[red]cache[/]", local_reporter=in_the_way)
    console = Console(file=io.StringIO(), width=400)
    doctor.examine(settings, console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert f"{settings.cache_dir}, " in shown
    assert f"{in_the_way}: " in shown


def test_an_installation_without_plug_ins_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug-ins are read from installed metadata, which an update of the sources alone leaves as it was."""
    monkeypatch.setattr(plugins, "installed_names", lambda kind: () if kind == "alarm reporter" else (f"a {kind}",))
    console = Console(file=io.StringIO(), width=400)
    monkeypatch.setattr(doctor, "_check_plug_ins", lambda settings: iter(()))
    code = doctor.examine(Settings(cache_dir=tmp_path, local_reporter=tmp_path), console)
    assert isinstance(console.file, io.StringIO)
    assert code is ExitCode.ENVIRONMENT
    assert "alarm reporters" in console.file.getvalue()
    assert plugins.REINSTALL in console.file.getvalue()


def test_programs_that_make_builds_faster_are_found_or_recommended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("_check_plug_ins", "_check_harness"):
        monkeypatch.setattr(doctor, kind, lambda settings: iter(()))
    monkeypatch.setattr(doctor, "find_program", {"ninja": Path("/usr/bin/ninja")}.get)
    console = Console(file=io.StringIO(), width=400)
    assert doctor.examine(Settings(cache_dir=tmp_path, local_reporter=tmp_path), console) is ExitCode.OK
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "/usr/bin/ninja" in shown
    assert "remedy: apt install ccache" in shown
