"""Options of a run as words of the line that reproduces it: they are parsed back to the same settings."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from harness.cli import app
from harness.config import arguments
from harness.config.settings import Settings
from harness.core.reproduction import Reproduction, format_lines
from harness.flows.measure.reproduction import option_words
from platforms.android.options import AndroidOptions
from platforms.phone_options import PhoneOptions


def _parse(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, folder: Path) -> Settings:
    """Return the settings that `harness run` would have."""
    monkeypatch.setenv("HARNESS_CONFIG_DIR", str(folder / "none"))
    tokens = arguments.prepare(["run", *words], {"run"})
    _, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    return arguments.resolve_settings(bound.arguments["run_flags"])


CHANGES: list[dict[str, object]] = [
    {"env": {"A": "1 2", "B": "x=y", "EMPTY": ""}},
    {"string_map": {"size": 224, "text": 'a "b" {c}', "flag": True, "share": 0.1}},
    {"command_args": "--fast -x 'two words'"},
    {"command_args": "plain"},
    {"cpus": (2, 3)},
    {"cpus": ()},
    {"cpus": "big"},
    {"timeout": 12.5, "cooldown": 0.0},
    {"operators": True},
    {"framework": "generic"},
    {"submodules": ("none",)},
    {"submodules": ("lib/a b", "lib/c")},
    {"platform_sig": "my machine"},
    {"backend": "xnnpack"},
    {"precision": 0.005},
    {"precision": math.inf},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_changed_options_are_parsed_back(
    change: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = dataclasses.replace(Settings(), **change)  # type: ignore[arg-type]
    words = option_words(settings, frozenset(change))
    parsed = _parse(words, monkeypatch, tmp_path)
    assert {name: getattr(parsed, name) for name in change} == change
    assert "inf" not in words, "people write `none`"


def test_programs_and_folders_are_named_by_absolute_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "a=b" / "my program"
    program.parent.mkdir()
    program.touch()
    settings = dataclasses.replace(Settings(), program={"program": program, "lib": program}, root_model_dir=tmp_path)
    parsed = _parse(option_words(settings, ()), monkeypatch, tmp_path)
    assert (parsed.program, parsed.root_model_dir) == (settings.program, tmp_path)


def test_options_of_plug_ins_are_named_where_the_platform_heeds_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = AndroidOptions(set_freq="max", adb_server="h:1")
    of_phones = PhoneOptions(override=("battery",))
    settings = dataclasses.replace(Settings(), plug_ins=(options, of_phones))
    heeded = {"set_freq", "override"}
    parsed = _parse(option_words(settings, heeded), monkeypatch, tmp_path)
    assert (parsed.of(AndroidOptions), parsed.of(PhoneOptions)) == (options, of_phones)
    assert option_words(settings, ()) == ("--adb-server", "h:1")


def test_a_value_that_looks_like_a_flag_is_named_once() -> None:
    assert option_words(Settings(command_args="--x 1"), ()) == ("--command-args=--x 1",)


def test_defaults_and_what_does_not_measure_are_left_out() -> None:
    settings = dataclasses.replace(
        Settings(), only=("x",), devices=("y",), spread=True, remote_reporter="https://token@host", debug=True
    )
    assert option_words(settings, ()) == ()


def test_secrets_are_left_out() -> None:
    settings = dataclasses.replace(Settings(), env={"API_TOKEN": "s3cret", "A": "1"})
    assert option_words(settings, ()) == ("--env", "A=1")


def _reproduction(title: str, **changes: object) -> Reproduction:
    values = {"command": ("harness", "run", "-b", "/a b.json"), "benchmark": title, "benchmark_digest": "d" * 64}
    return Reproduction.model_validate({**values, **changes})


def test_a_line_is_quoted_for_a_shell() -> None:
    line = _reproduction("m/a [b] 'c'*", device="two words", build_digests=("e" * 64,)).line
    assert line == (
        "harness run -b '/a b.json' --only 'm/a [[]b] '\"'\"'c'\"'\"'[*]' --benchmark-digest dddddddddddddddd "
        '--build-digest eeeeeeeeeeeeeeee --devices \'{"hash": "two words"}\''
    )


def test_results_of_one_command_share_a_line() -> None:
    lines = format_lines(
        [
            _reproduction("m/a", device="one"),
            _reproduction("m/b", device="one", benchmark_digest="e" * 64),
            _reproduction("m/a", command=("harness", "run", "-b", "/c.json")),
        ]
    )
    assert lines == (
        "harness run -b '/a b.json' --only m/a m/b --benchmark-digest dddddddddddddddd eeeeeeeeeeeeeeee --devices one",
        "harness run -b /c.json --only m/a --benchmark-digest dddddddddddddddd",
    )


def test_runners_of_a_comparison_are_named_in_one_word() -> None:
    changed, same = (_reproduction("m/a", build_digests=digests) for digests in (("c" * 64, "e" * 64), ("f" * 64,) * 2))
    assert changed.line.endswith("--build-digest cccccccccccccccc..eeeeeeeeeeeeeeee")
    assert same.line.endswith("--build-digest ffffffffffffffff")
    (line,) = format_lines([changed, same])
    assert line.endswith("--build-digest cccccccccccccccc..eeeeeeeeeeeeeeee ffffffffffffffff")


def test_what_has_to_be_measured_together_shares_every_line() -> None:
    a, b = (_reproduction(f"m/{name}", command=("harness", "rank"), benchmark_digest=name * 64) for name in "ab")
    for own, other in ((a, b), (b, a)):
        line = own.model_copy(update={"beside": (other,)}).line
        assert set(line.split()[3:5]) == {"m/a", "m/b"}
        assert set(line.split()[6:]) == {"a" * 16, "b" * 16}
