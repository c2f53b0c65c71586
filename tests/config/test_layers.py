"""How settings come about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, get_type_hints

import pytest

from harness.config import layers
from harness.config.options import Option, OptionTable, declared_options
from harness.config.settings import Settings
from harness.core.errors import UsageError

TABLE = OptionTable(Settings)
PATHS = [option.name for option in declared_options(Settings) if option.bare_type is Path]


def resolved(
    flags: Mapping[str, object] | None = None,
    *,
    config: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    default_args: Mapping[str, object] | None = None,
) -> Settings:
    return layers.resolve(
        flags or {},
        table=TABLE,
        config=config or {},
        environment=environment or {},
        default_args=default_args or {},
    )


@pytest.mark.parametrize("name", PATHS)
def test_a_path_means_the_same_everywhere_from_whichever_layer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for found in (
        resolved({name: Path("~/a")}),
        resolved(config={name: "a"}),
        resolved(environment={f"HARNESS_{name.upper()}": "~/a"}),
        resolved(default_args={name: "a"}),
    ):
        assert getattr(found, name) == tmp_path / "a"


def test_every_path_of_the_settings_is_made_absolute() -> None:
    paths = {name for name, hint in get_type_hints(Settings).items() if hint in (Path, Path | None)}
    assert paths == set(PATHS)
    assert paths


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("timeout", value) for value in (0, -1, float("inf"), float("nan"))),
        *((name, value) for name in ("cooldown", "lock_timeout") for value in (-1, float("inf"), float("nan"))),
    ],
)
def test_a_number_that_cannot_be_meant_is_an_error_that_names_the_flag(name: str, value: float) -> None:
    for found in ({"flags": {name: value}}, {"environment": {f"HARNESS_{name.upper()}": str(value)}}):
        with pytest.raises(UsageError, match=f"--{name.replace('_', '-')} "):
            resolved(**found)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"timeout": "x"}, "--timeout x: input should be a valid number"),
        ({"local_reporter": 5}, "--local-reporter 5: input should be a path"),
        ({"screen_reporter": "perhaps"}, "--screen-reporter perhaps: input should be true or false"),
        ({"only": 5}, "--only 5: input should be a list"),
    ],
)
def test_values_of_the_wrong_type_are_described_without_words_of_python(
    config: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolved(config=config)
    assert caught.value.message == message


def test_pauses_may_be_nothing() -> None:
    found = resolved({"cooldown": 0.0, "lock_timeout": 0.0, "timeout": 0.001})
    assert (found.cooldown, found.lock_timeout, found.timeout) == (0, 0, 0.001)


def test_variables_have_the_names_of_flags_and_are_taken_apart_like_them() -> None:
    found = resolved(
        environment={
            "HARNESS_DEVICE": "a,b",
            "HARNESS_ONLY": "*q8* 'two words'",
            "HARNESS_SKIP": "x",
            "HARNESS_META": '{"rack": 3}',
            "HARNESS_REPORTERS": "csv=/a html",
            "HARNESS_USER_STRING": "me",
            "HARNESS_BENCHMARK_FILE": "spec.json",
        }
    )
    assert found.devices == ("a", "b")
    assert (found.only, found.skip) == (("*q8*", "two words"), ("x",))
    assert found.meta == {"rack": 3}
    assert found.reporters == {"csv": "/a", "html": ""}
    assert found.user == "me"
    assert found.benchmark_file == (Path("spec.json"),)


@pytest.mark.parametrize(("name", "meant"), [("MODEL_CACH", "MODEL_CACHE"), ("DEVICS", "DEVICES"), ("JOB", "JOBS")])
def test_a_variable_called_nearly_like_one_of_ours_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"HARNESS_{name}") as caught:
        resolved(environment={f"HARNESS_{name}": "x"})
    assert caught.value.hint == f"did you mean HARNESS_{meant}?"


def test_a_variable_called_like_a_flag_without_default_is_an_error_that_says_so() -> None:
    with pytest.raises(UsageError, match="`HARNESS_PAIRS` sets nothing: --pairs belongs on the command line") as caught:
        resolved(environment={"HARNESS_PAIRS": "5"})
    assert caught.value.hint == "unset it, and give --pairs to the commands that take it"
    assert layers.unknown_variables({"HARNESS_HOST": "x"}, TABLE) == ("HARNESS_HOST",)
    assert resolved(environment={"HARNESS_HOST": "x", "HARNESS_BRANCH": "main"}) == resolved()


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoardOptions:
    heading: ClassVar[str] = "On boards"
    board_id: Annotated[str, Option("Board.")] = ""


def test_identifiers_of_the_service_called_harness_are_no_mistakes() -> None:
    names = ("ACCOUNT", "BUILD", "ORG", "PIPELINE", "PROJECT")
    assert resolved(environment={f"HARNESS_{name}_ID": "x" for name in names}) == resolved()
    of_plug_in = OptionTable(Settings, _BoardOptions)
    assert layers.read_environment({"HARNESS_BOARD_ID": "b"}, of_plug_in) == {"board_id": "b"}


def test_other_variables_are_strangers_and_known_ones_are_not() -> None:
    environment = {"HARNESS_COLOUR_OF_HORSE": "1", "HARNESS_EMPTY_THING": "", "HARNESS_DEVICE": "a", "PATH": "/bin"}
    environment |= dict.fromkeys(layers._OTHER_VARIABLES, "1")
    assert layers.unknown_variables(environment, TABLE) == ("HARNESS_COLOUR_OF_HORSE",)
    assert resolved(environment=environment).devices == ("a",)


def test_a_backend_is_appended_to_arguments_from_elsewhere() -> None:
    assert resolved({"backend": "q"}).command_args == "--backend q"
    assert resolved({"backend": "q"}, config={"command_args": "--fast"}).command_args == "--fast --backend q"
    both = resolved({"backend": "q", "command_args": "-v"}, environment={"HARNESS_BACKEND": "p"})
    assert both.command_args == "-v --backend q"


@pytest.mark.parametrize(
    "given", [("NET latency", "ID_0_Conv"), '["NET latency", "ID_0_Conv"]', ('["NET latency"]', "ID_0_Conv")]
)
def test_regressed_types_are_words_or_the_json_list_of_fai_pep(given: object) -> None:
    assert resolved({"regressed_types": given}).regressed_types == ("NET latency", "ID_0_Conv")


def test_regressed_types_of_the_environment_are_shell_words() -> None:
    found = resolved(environment={"HARNESS_REGRESSED_TYPES": "'NET latency' NET"})
    assert found.regressed_types == ("NET latency", "NET")


def test_a_broken_list_of_regressed_types_is_an_error() -> None:
    with pytest.raises(UsageError, match="regressed_types"):
        resolved({"regressed_types": '["NET"'})


@pytest.mark.parametrize("given", ["3-1", "", "a", "1-", "-1", "1,,2", "0-99999999999", "4096", "9" * 5000])
def test_what_is_no_list_of_cpus_is_an_error_and_forbids_nothing(given: str) -> None:
    with pytest.raises(UsageError, match="no list of CPUs"):
        resolved({"cpus": given})


def test_cpus_are_numbers_ranges_or_none_at_all() -> None:
    assert resolved({"cpus": "2, 4-6"}).cpus == (2, 4, 5, 6)
    assert resolved({"cpus": "0-3," * 1000 + "2"}).cpus == (0, 1, 2, 3)
    assert resolved({"cpus": "none"}).cpus == ()
    assert resolved({"cpus": "big"}).cpus == "big"
    assert resolved({"cpus": 2}).cpus == (2,), "a number, as a file of TOML has it"
    assert resolved().cpus is None


def test_programs_and_reporters_of_one_name_do_not_replace_one_another(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).touch()
    both = (str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(UsageError, match="two programs are called `program`"):
        resolved({"program": both})
    assert resolved({"program": (both[0], f"lib={both[1]}")}).program == {
        "program": tmp_path / "a",
        "lib": tmp_path / "b",
    }
    with pytest.raises(UsageError, match="`html` is asked for twice"):
        resolved({"reporter": ("html=a", "html=b")})
    assert resolved({"reporter": ("html=a", "html=a")}).reporters == {"html": "a"}


def test_an_empty_backend_counts_as_not_given() -> None:
    assert resolved({"backend": ""}).command_args == ""
    assert resolved({"backend": ""}, environment={"HARNESS_BACKEND": "p"}).command_args == "--backend p"
    assert resolved(config={"backend": "q"}, default_args={"backend": ""}).command_args == "--backend q"


@pytest.mark.parametrize(
    ("flags", "place"),
    [({"string_map": '{"good": 1, "size": null}'}, "--string-map `size`: "), ({"env": {"A": 3}}, "--env `A` 3: ")],
)
def test_a_wrong_value_of_a_mapping_is_named_by_its_key(flags: dict[str, object], place: str) -> None:
    with pytest.raises(UsageError, match=f"^{place}"):
        resolved(flags)


@pytest.mark.parametrize("name", ["timeout", "cooldown", "lock_timeout"])
def test_bounds_are_left_to_the_class_that_declares_them(name: str) -> None:
    option = TABLE.find(name)
    assert option is not None
    assert option.bare_type is float


def test_the_uppermost_layer_decides_between_quiet_and_verbose() -> None:
    settings = resolved({"quiet": True}, config={"verbose": True})
    assert (settings.quiet, settings.verbose) == (True, False)
    settings = resolved({}, config={"quiet": True}, environment={"HARNESS_VERBOSE": "1"})
    assert (settings.quiet, settings.verbose) == (False, True)
    settings = resolved({}, config={"quiet": True}, environment={"HARNESS_VERBOSE": "0"})
    assert (settings.quiet, settings.verbose) == (True, False)
    with pytest.raises(UsageError, match="--quiet beside --verbose"):
        resolved({"quiet": True, "verbose": True})
