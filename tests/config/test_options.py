"""Options are declared once: by the harness, and in the same way by plug-ins."""

from __future__ import annotations

import json
from dataclasses import dataclass, make_dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest

from harness.config import layers
from harness.config.arguments import installed_options
from harness.config.flags import reserved_flags, run_flags
from harness.config.options import Option, OptionTable
from harness.config.parsing import find_programs, parse_devices
from harness.config.settings import Limit, Settings
from harness.core.errors import EnvironmentProblem, UsageError
from tests.cli.project import Outcome, Project, generic, observe, one_test
from tests.command_line import EVERY_COMMAND, arguments_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardOptions:
    """Options of a platform of somebody else's."""

    heading: ClassVar[str] = "On boards"

    board_speed: Annotated[
        Literal["slow", "fast"], Option("Speed of the board.", flags=("--board-speed", "--pace"))
    ] = "slow"
    board_lamps: Annotated[tuple[str, ...], Option("Lamps to switch on.")] = ()
    board_folder: Annotated[Path | None, Option("Folder on the board.")] = None
    board_reset: Annotated[bool, Option("Reset the board first.")] = False


TABLE = OptionTable(Settings, BoardOptions)


def resolved(**given: object) -> Settings:
    """The settings with some layers."""
    empty: dict[str, object] = {"flags": {}, "config": {}, "environment": {}, "default_args": {}}
    return layers.resolve(**{**empty, **given}, table=TABLE)  # type: ignore[arg-type]


def test_flags_and_specifications_request_options_and_defaults_do_not() -> None:
    defaults = resolved(config={"board_speed": "fast"}, environment={"HARNESS_BOARD_FOLDER": "/x"})
    assert defaults.requested == frozenset()
    both = resolved(flags={"timeout": 3.0}, default_args={"--pace": "fast"})
    assert both.requested == {"timeout", "board_speed"}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("a,b c", ("a", "b", "c")),
        (("a", "b,c"), ("a", "b", "c")),
        ('{"kind": "Pixel 8", "hash": "1A 2B"}', ("1A 2B",)),
        (('{"hash": "1A2B"}', "c"), ("1A2B", "c")),
    ],
)
def test_devices_are_names_or_objects_of_fai_pep(value: object, names: tuple[str, ...]) -> None:
    assert parse_devices(value) == names


@pytest.mark.parametrize("value", ['{"kind": "Pixel 8"}', '{"hash": 7}', '{"hash"'])
def test_an_object_that_names_no_device_is_an_error(value: str) -> None:
    with pytest.raises(UsageError, match="has no `hash`"):
        parse_devices(value)


@pytest.mark.parametrize(
    "given",
    [
        {"flags": {"board_speed": "fast"}},
        {"config": {"board_speed": "fast"}},
        {"config": {"board-speed": "fast"}},
        {"config": {"pace": "fast"}},
        {"environment": {"HARNESS_BOARD_SPEED": "fast"}},
        {"environment": {"HARNESS_PACE": "fast"}},
        {"default_args": {"--board_speed": "fast"}},
        {"config": {"board_speed": "slow"}, "environment": {"HARNESS_BOARD_SPEED": "fast"}},
    ],
)
def test_an_option_of_a_plug_in_can_be_set_in_every_layer(given: dict[str, object]) -> None:
    assert resolved(**given).of(BoardOptions).board_speed == "fast"


def test_an_option_that_nobody_sets_has_its_default() -> None:
    assert resolved().of(BoardOptions) == BoardOptions() == Settings().of(BoardOptions)


def test_texts_are_parsed_by_the_type_of_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"BOARD_LAMPS": "red 'dark blue'", "BOARD_FOLDER": "here", "BOARD_RESET": "1"}
    options = resolved(environment={f"HARNESS_{name}": value for name, value in environment.items()}).of(BoardOptions)
    assert options.board_lamps == ("red", "dark blue")
    assert options.board_folder == tmp_path / "here"
    assert options.board_reset is True


@pytest.mark.parametrize("given", [{"config": {"pace": "warp"}}, {"environment": {"HARNESS_BOARD_SPEED": "warp"}}])
def test_a_wrong_value_names_the_flag_and_what_it_takes(given: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="--board-speed warp: input should be 'slow' or 'fast'"):
        resolved(**given)


def test_a_misspelt_key_or_variable_is_told_what_it_resembles() -> None:
    with pytest.raises(UsageError) as of_file:
        resolved(config={"board_sped": "fast"})
    assert of_file.value.hint == "did you mean `board_speed`?"
    with pytest.raises(UsageError) as of_environment:
        resolved(environment={"HARNESS_BOARD_SPED": "fast"})
    assert of_environment.value.hint == "did you mean HARNESS_BOARD_SPEED?"


def test_every_option_has_a_flag_below_the_heading_of_its_plug_in() -> None:
    assert run_flags(TABLE)(board_speed="fast").given() == {"board_speed": "fast"}  # type: ignore[call-arg]
    assert {option.heading for option in TABLE.options if option.owner is BoardOptions} == {"On boards"}


def test_two_plug_ins_cannot_declare_the_same_option() -> None:
    @dataclass(frozen=True)
    class OtherOptions:
        heading: ClassVar[str] = "Elsewhere"
        pace: Annotated[str, Option("Pace.")] = ""

    with pytest.raises(EnvironmentProblem, match=r"OtherOptions and .*BoardOptions declare the same option `pace`"):
        OptionTable(Settings, BoardOptions, OtherOptions)


@pytest.mark.parametrize(
    "name",
    [
        "margin",
        "base_commit",
        "interval",
        "info",
        "config_dir",
        "given",
        "reset_options",
        "output",
        "version",
        "remote",
    ],
)
def test_a_plug_in_cannot_take_the_name_of_a_flag_that_is_no_option(name: str) -> None:
    other = make_dataclass("Other", [(name, Annotated[str, Option("Something.")], "")], frozen=True)
    with pytest.raises(EnvironmentProblem, match=rf"Other and the commands of the harness .* same flag `--{name}`"):
        OptionTable(Settings, other, reserved=reserved_flags())


@pytest.mark.parametrize("name", ["no_merges", "no_regression"])
def test_a_plug_in_cannot_take_the_name_of_a_flag_that_switches_off(name: str) -> None:
    other = make_dataclass("Other", [(name, Annotated[bool, Option("Something.")], False)], frozen=True)
    with pytest.raises(EnvironmentProblem, match=r"Other and the commands of the harness .* the same flag `--no"):
        OptionTable(Settings, other, reserved=reserved_flags())


def test_the_opposite_of_a_flag_without_one_is_free() -> None:
    other = make_dataclass("Other", [("no_resume", Annotated[bool, Option("Something.")], False)], frozen=True)
    assert OptionTable(Settings, other, reserved=reserved_flags()).find("no_resume") is not None


def test_two_options_cannot_have_one_flag_because_one_switches_the_other_off() -> None:
    lamps = make_dataclass("Lamps", [("lamps", Annotated[bool, Option("Lamps.")], True)], frozen=True)
    dark = make_dataclass("Dark", [("no_lamps", Annotated[bool, Option("No lamps.")], False)], frozen=True)
    message = r"Dark and .*Lamps declare the same option `--no-lamps`"
    with pytest.raises(EnvironmentProblem, match=message):
        OptionTable(Settings, lamps, dark)
    ours = make_dataclass("Ours", [("no_screen_reporter", Annotated[str, Option("Other.")], "")], frozen=True)
    with pytest.raises(EnvironmentProblem, match=r"Ours and .*Settings declare the same option"):
        OptionTable(Settings, ours)


@pytest.mark.parametrize("flag", ["-b", "--spread"])
def test_a_plug_in_cannot_take_a_flag_of_ours(flag: str) -> None:
    other = make_dataclass("Other", [("pace", Annotated[str, Option("Pace.", flags=("--pace", flag))], "")])
    with pytest.raises(EnvironmentProblem, match=r"Other and .*Settings declare the same option "):
        OptionTable(Settings, other)


def test_every_flag_of_a_command_is_an_option_or_reserved() -> None:
    names = {name for command in EVERY_COMMAND for argument in arguments_of(command) for name in argument.names}
    options = {flag for option in installed_options().options for flag in (*option.flags, *option.negative_flags)}
    assert {"--margin", "--no-merges", "--no-screen-reporter"} <= names
    assert {name for name in names if name.startswith("-")} <= options | reserved_flags()


def test_an_option_of_a_plug_in_can_be_protected_from_specifications() -> None:
    @dataclass(frozen=True)
    class Probe:
        probe_file: Annotated[
            str, Option("File to write.", flags=("-x", "--probe-file", "--probe"), in_specifications=False)
        ] = ""
        probe_rate: Annotated[int, Option("Readings per second.")] = 1

    assert OptionTable(Probe).protected_keys == {"probe_file", "probe", "x"}


def test_an_option_without_a_default_is_a_mistake_of_its_author() -> None:
    @dataclass(frozen=True)
    class Incomplete:
        pace: Annotated[str, Option("Pace.")]

    with pytest.raises(EnvironmentProblem, match=r"`pace` of .*Incomplete has no default"):
        OptionTable(Settings, Incomplete)


@pytest.mark.parametrize(
    "value_type", [list[str], set[str], tuple[list[str], ...], bytes, date, int | list[str], object]
)
def test_a_type_that_options_cannot_have_is_refused_in_words(value_type: object) -> None:
    other = make_dataclass("Other", [("pace", Annotated[value_type, Option("Pace.")], None)])
    with pytest.raises(EnvironmentProblem, match=r"`pace` of .*Other has a type that options cannot have") as raised:
        OptionTable(other)
    assert "or give the option a `parse`" in (raised.value.hint or "")


@pytest.mark.parametrize(
    "value_type",
    [
        int,
        Path | None,
        Literal["a", 1],
        tuple[Path, ...],
        tuple[int, ...] | None,
        dict[str, int],
        int | str,
        Limit | None,
    ],
)
def test_types_that_options_can_have(value_type: object) -> None:
    other = make_dataclass("Other", [("pace", Annotated[value_type, Option("Pace.")], None)])
    assert OptionTable(other).keys == {"pace"}


def test_an_option_that_is_parsed_by_its_plug_in_has_any_type() -> None:
    other = make_dataclass("Other", [("pace", Annotated[date, Option("Pace.", parse=str)], None)])
    assert OptionTable(other).keys == {"pace"}


_OPTIONS = """
from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.config.options import Option


@dataclass(frozen=True)
class BenchOptions:
    heading: ClassVar[str] = "On the work bench"
    bench_niceness: Annotated[int, Option("Niceness of programs.", flags=("--bench-niceness", "--niceness"))] = 3
"""
_PLATFORM = """
import dataclasses

from bench_options import BenchOptions
from platforms.host.platform import Host


class Bench(Host):
    name = "bench"

    def __init__(self, work, niceness):
        super().__init__(work)
        self._niceness = niceness

    def devices(self):
        named = f"bench, niceness {self._niceness}"
        return [device.model_copy(update={"platform": "bench", "name": named}) for device in super().devices()]


def create(settings):
    return Bench(settings.cache_dir / "bench", settings.of(BenchOptions).bench_niceness)
"""


@pytest.fixture
def third_party(tmp_path: Path) -> Path:
    """A platform of somebody else's, installed as far as Python can tell."""
    folder = tmp_path / "site"
    information = folder / "bench-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "bench_options.py").write_text(_OPTIONS)
    (folder / "bench_platform.py").write_text(_PLATFORM)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: bench\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        "[edge_harness.platforms]\nbench = bench_platform:create\n"
        "[edge_harness.options]\nbench = bench_options:BenchOptions\n"
    )
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "cache")


def test_the_help_shows_the_options_of_a_third_party_without_importing_its_plug_in(
    project: Project, third_party: Path
) -> None:
    (third_party / "bench_platform.py").write_text("raise SystemExit('imported')")
    done = project.harness("run", "--help", PYTHONPATH=str(third_party))
    assert done.code == 0, done.stderr
    heading = done.stdout.index("On the work bench")
    assert heading < done.stdout.index("--bench-niceness") < done.stdout.index("Niceness of programs (default: 3).")


@pytest.mark.slow
def test_a_third_party_s_option_is_set_by_file_environment_specification_and_flag(
    project: Project, third_party: Path
) -> None:
    inner = generic(one_test("a", observe(1, 2, 3, 4, 5)))
    spec = project.write("spec.json", inner)

    def niceness(*flags: str, variable: str = "") -> str:
        environment = {"PYTHONPATH": str(third_party), "HARNESS_BENCH_NICENESS": variable}
        done: Outcome = project.harness("-b", spec, "-p", "bench", *flags, **environment)  # type: ignore[arg-type]
        assert done.code == 0, done.stderr
        name: str = done.read()[-1]["device"]["name"]
        return name.removeprefix("bench, niceness ")

    assert niceness() == "3"
    project.write("config/config.json", {"bench_niceness": 4})
    assert niceness() == "4"
    assert niceness(variable="5") == "5"
    spec.write_text(json.dumps({**inner, "default_args": {"--bench_niceness": 6}}))
    assert niceness(variable="5") == "6"
    assert niceness("--bench-niceness", "7") == "7"
    assert niceness("--bench_niceness", "8") == "8"
    assert niceness("--niceness", "9") == "9"


def test_wrong_values_of_a_third_party_s_option_are_refused_in_words(project: Project, third_party: Path) -> None:
    spec = project.write("spec.json", generic(one_test("a", observe(1, 2, 3, 4, 5))))
    done = project.harness("validate", spec, PYTHONPATH=str(third_party), HARNESS_BENCH_NICENESS="high")
    assert done.code == 2
    assert "--bench-niceness high: input should be a valid integer" in done.stderr
    done = project.harness("-b", spec, "--bench-nicenes", "3", PYTHONPATH=str(third_party))
    assert done.code == 2
    assert "did you mean --bench-niceness?" in done.stderr


@pytest.mark.parametrize(("flag", "value"), [("--timeout", "-1"), ("--timeout", "nan"), ("--cooldown", "-1")])
def test_a_number_out_of_bounds_on_the_command_line_is_refused_in_our_words(
    project: Project, flag: str, value: str
) -> None:
    done = project.harness("-b", "spec.json", f"{flag}={value}")
    assert done.code == 2
    assert f"{flag} {value}: input should be " in done.stderr
    assert "pydantic" not in done.stderr


def test_options_that_cannot_be_loaded_are_told_and_stop_nothing(project: Project, third_party: Path) -> None:
    (third_party / "bench_options.py").write_text("import nothing_of_this_name")
    done = project.harness("run", "--help", PYTHONPATH=str(third_party))
    assert done.code == 0
    assert "bench_options:BenchOptions" in done.stderr
    assert "nothing_of_this_name" in done.stderr


def test_the_list_of_commands_reads_no_options(project: Project, third_party: Path) -> None:
    (third_party / "bench_options.py").write_text("raise ValueError('read')")
    for flag in ("--help", "--version"):
        done = project.harness(flag, PYTHONPATH=str(third_party))
        assert (done.code, done.stderr) == (0, "")


_UNRESOLVED = _OPTIONS.replace("Annotated[int,", "'Annotated[Missing,").replace('"))] = 3', "\"))]' = 3")


@pytest.mark.parametrize(
    ("module", "reason"),
    [("raise ValueError('no such board')", "ValueError: no such board"), (_UNRESOLVED, "NameError: name 'Missing'")],
    ids=["raises", "type that is imported for type checkers only"],
)
def test_a_defective_module_of_options_is_reported_and_stops_nothing(
    project: Project, third_party: Path, module: str, reason: str
) -> None:
    (third_party / "bench_options.py").write_text(module)
    done = project.harness("builds", PYTHONPATH=str(third_party))
    assert done.code == 0, done.stderr
    assert "`bench` (bench_options:BenchOptions) cannot be used" in done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_may_have_an_equals_sign(tmp_path: Path) -> None:
    program = tmp_path / "a=b"
    program.touch()
    assert find_programs([str(program), f"other={program}"]) == {"program": program, "other": program}
