"""How `Settings` come about: defaults < saved configuration < environment < `default_args` of the file < flags."""

from __future__ import annotations

import difflib
import json
import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.core.errors import UsageError
from harness.core.placeholders import suggest
from harness.core.values import Scalar, Value, text
from harness.settings import Settings, default_config_dir

_PREFIX = "HARNESS_"
_ALIASES = {
    "device": "devices",
    "reporter": "reporters",
    "pre_built_binary": "program",
    "custom_binary": "program",
    "user_string": "user",
}
_OTHER_VARIABLES = frozenset(
    {
        *("HARNESS_CONFIG_DIR", "HARNESS_REMOTE_TOKEN", "HARNESS_REMOTE_TOKEN_FILE", "HARNESS_IOS_TEAM"),
        *("HARNESS_PYTHON", "HARNESS_JOBS", "HARNESS_BUILD_DIR", "HARNESS_ABI", "HARNESS_RUNNER_SOURCE"),
        *("HARNESS_HOOK_SECRET", "HARNESS_ALARM_FILE", "HARNESS_ALARM_KEY"),
    }
)
"""Variables that are no settings: secrets, and those that recipes and commands of the user's are given."""

_PATHS = ("model_cache", "cache_dir", "root_model_dir", "local_reporter", "simple_local_reporter")

_FIELDS = frozenset(field.name for field in fields(Settings))
_UNSAVED = frozenset({"benchmark_file", "devices", "dry_run", "meta", "commit", "commit_time", "regressed_types"})
"""What belongs to one run; FAI-PEP saved the flags of the first run along with the answers."""

Layer = Mapping[str, object]


def resolve(flags: Layer, *, config: Layer, environment: Mapping[str, str], default_args: Layer) -> Settings:
    """Join the layers, later ones first.

    Raises:
        UsageError: A key that no setting has, or a value that does not fit, naming the layer.
    """
    merged: dict[str, object] = {}
    backend: object = None
    layers = (
        ("saved configuration", config),
        ("environment", from_environment(environment)),
        ("default_args of the specification", default_args),
        ("flags", flags),
    )
    for source, layer in layers:
        backend = layer.get("backend") or backend
        merged |= _normal(source, {key: value for key, value in layer.items() if key != "backend"})
    if backend is not None:
        merged["command_args"] = f"{merged.get('command_args', '')} --backend {backend}".strip()
    if "cache_dir" in merged:
        merged.setdefault("model_cache", Path(str(merged["cache_dir"])) / "models")
    return _bounded(_validated(merged))


def from_environment(environment: Mapping[str, str]) -> Layer:
    """`HARNESS_MODEL_CACHE=/x` sets `model_cache`, by the names that flags have.

    Raises:
        UsageError: A variable is called nearly like a setting.
    """
    found: dict[str, object] = {}
    for name, field in _ours(environment).items():
        if field in _FIELDS or field == "backend":
            found[field] = environment[name]
        elif near := difflib.get_close_matches(name, _variables(), n=1, cutoff=0.8):
            raise UsageError(f"environment: no setting `{name}`", hint=f"did you mean {near[0]}?")
    return found


def files_of(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The specification that the environment names, if any."""
    named = from_environment(environment).get("benchmark_file")
    return (Path(str(named)).expanduser(),) if named else ()


def strangers(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Variables with our prefix that mean nothing here."""
    return tuple(name for name, field in sorted(_ours(environment).items()) if field not in {*_FIELDS, "backend"})


def _ours(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that are set and may be settings, with what they would set."""
    names = [name for name in environment if name.startswith(_PREFIX) and environment[name]]
    return {name: _field(name.removeprefix(_PREFIX).lower()) for name in names if name not in _OTHER_VARIABLES}


def _variables() -> list[str]:
    names = {*_FIELDS, *_ALIASES, "backend"}
    return sorted({*(f"{_PREFIX}{name.upper()}" for name in names), *_OTHER_VARIABLES})


def config_file(folder: Path | None) -> Path:
    """Where the saved defaults are."""
    return (folder or Path(os.environ.get("HARNESS_CONFIG_DIR", "") or default_config_dir())) / "config.json"


def read_config(path: Path) -> Layer:
    """The saved defaults; none when there is no file.

    Raises:
        UsageError: The file is damaged.
    """
    if not path.exists():
        return {}
    try:
        saved = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}", hint="mend it, or forget it with --reset_options") from error
    if not isinstance(saved, dict):
        raise UsageError(f"{path}: expected a JSON object", hint="forget it with --reset_options")
    unsaved = sorted(_UNSAVED & {_field(key) for key in saved})
    if unsaved:
        raise UsageError(f"{path}: {', '.join(unsaved)} belongs on the command line", hint="remove it from the file")
    return saved


class Program(Value, extra="ignore"):
    """One program of a side."""

    location: Path


class Side(Value, extra="ignore"):
    """One side of FAI-PEP's info JSON."""

    commit: str | None = None
    commit_time: int | None = None
    programs: dict[str, Program]
    string_map: str | dict[str, JsonValue] = {}

    def paths(self) -> dict[str, Path]:
        """Its programs, by placeholder."""
        return {name: program.location.absolute() for name, program in self.programs.items()}

    def texts(self) -> dict[str, str]:
        """Its placeholders as text."""
        return {name: text(value) for name, value in self.variables().items() if isinstance(value, Scalar)}

    def variables(self) -> dict[str, object]:
        """Its placeholders.

        Raises:
            UsageError: They are no JSON object.
        """
        mapped = _json_object(self.string_map)
        return mapped if isinstance(mapped, dict) else {}


class Earlier(Value, extra="ignore"):
    """A commit that FAI-PEP would have looked for a regression in."""

    commit: str
    commit_time: int | None = None


class Info(Value, extra="ignore"):
    """FAI-PEP's info JSON.

    Attributes:
        treatment: The side that is measured, or judged.
        control: What to hold it against, if anything.
        meta: Free values, reported.
        run_type: Reported.
        user: Reported.
        regressed_types: Metrics that an earlier run called regressed; marked in the results.
        regression_commits: Earlier commits, newest first; reported. They are held against the treatment nowhere: that
            is what a control is for.
    """

    treatment: Side
    control: Side | None = None
    meta: dict[str, JsonValue] = {}
    run_type: str | None = None
    user: str | None = None
    regressed_types: tuple[str, ...] | None = None
    regression_commits: tuple[Earlier, ...] = ()


def read_info(given: str) -> Info:
    """An info JSON.

    Args:
        given: The JSON itself, or the path of a file with it.

    Raises:
        UsageError: It cannot be read.
    """
    source = given if given.lstrip().startswith("{") else _read(Path(given))
    try:
        return Info.model_validate_json(source)
    except ValidationError as error:
        raise UsageError(f"--info: {_first(error)}", hint='as in {"treatment": {"programs": {...}, ...}}') from error


def from_info(info: Info) -> Layer:
    """The settings that an info JSON stands for; with a control, what its sides do not share is left to them."""
    side = info.treatment
    found: dict[str, object] = {
        "program": side.paths(),
        "meta": {**info.meta, **_earlier(info)},
        "run_type": info.run_type,
        "user": info.user,
        "regressed_types": info.regressed_types,
    }
    if info.control is not None:
        found["later"] = tuple(sorted({*side.texts(), *info.control.texts()}))
    else:
        found |= {"string_map": side.variables(), "commit": side.commit, "commit_time": side.commit_time}
    return {key: value for key, value in found.items() if value is not None}


def _earlier(info: Info) -> dict[str, object]:
    commits = [one.model_dump(exclude_none=True) for one in info.regression_commits]
    return {"regression_commits": commits} if commits else {}


def _normal(source: str, layer: Layer) -> dict[str, object]:
    """One layer by field names, its texts taken apart."""
    found: dict[str, object] = {}
    for key, value in layer.items():
        name = _field(key)
        if name not in _FIELDS:
            raise UsageError(f"{source}: no setting `{key}`", hint=suggest(name, _FIELDS))
        if value is not None:
            found[name] = _TAKE_APART.get(name, _as_it_is)(value)
    return found


def _field(key: str) -> str:
    name = key.removeprefix("--").removeprefix("-").replace("-", "_")
    return _ALIASES.get(name, name)


def _validated(merged: Mapping[str, object]) -> Settings:
    try:
        return TypeAdapter(Settings).validate_python(merged)
    except ValidationError as error:
        raise UsageError(_first(error), hint="`harness --help` lists every setting") from error


def _bounded(found: Settings) -> Settings:
    """The settings, if their numbers can be what is meant.

    Raises:
        UsageError: One of them cannot, naming its flag.
    """
    if found.timeout is not None and not 0 < found.timeout < math.inf:
        raise UsageError(f"--timeout {found.timeout:g}: a limit is more than 0 seconds and finite")
    pauses = {name: getattr(found, name) for name in ("cooldown", "lock_timeout", "return_timeout", "cool_timeout")}
    for flag, seconds in pauses.items():
        if seconds is not None and not 0 <= seconds < math.inf:
            raise UsageError(f"--{flag} {seconds:g}: a pause is 0 seconds or more, and finite")
    return found


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg'].lower()}"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise UsageError(f"--info {path}: {error.strerror}", hint="name a file, or give the JSON itself") from error


def _as_it_is(value: object) -> object:
    return value


def _place(value: object) -> object:
    """A path that means the same wherever a program is started."""
    return Path(value).expanduser().absolute() if isinstance(value, (str, Path)) else value


def _files(value: object) -> object:
    """Paths as they are told: what is relative stays so, that messages show what was typed."""
    if isinstance(value, (str, Path)):
        return (Path(value).expanduser(),)
    return tuple(Path(item).expanduser() for item in value) if isinstance(value, (tuple, list)) else value


def _shell_words(value: object) -> object:
    """A text as a shell would take it apart; words stay as they are."""
    if not isinstance(value, str):
        return value
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise UsageError(f"`{value}`: {error}", hint="close the quotes") from error


def _words(value: object) -> object:
    """`a,b c` as (`a`, `b`, `c`)."""
    items = (value,) if isinstance(value, str) else cast("tuple[object, ...]", value)
    return tuple(word for item in items for word in str(item).replace(",", " ").split())


def _pairs(value: object) -> object:
    """`A=1 B=2` as a mapping."""
    if not isinstance(value, (str, tuple, list)):
        return value
    items = value.split() if isinstance(value, str) else value
    broken = [item for item in items if "=" not in str(item)]
    if broken:
        raise UsageError(f"`{broken[0]}` is not NAME=VALUE", hint="as in --env A=1 B=2")
    return dict(str(item).split("=", 1) for item in items)


def _programs(value: object) -> object:
    if not isinstance(value, (str, tuple, list)):
        return value
    return programs_of((value,) if isinstance(value, str) else [str(item) for item in value])


def programs_of(items: Sequence[str]) -> dict[str, Path]:
    """`PATH` or `NAME=PATH`, several of them, by name; the nameless one is `program`."""
    for item in items:
        path = Path(item.partition("=")[2] or item).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no program {path}", hint="name an executable file: PATH or NAME=PATH")
    named = (str(item).split("=", 1) if "=" in str(item) else ("program", str(item)) for item in items)
    return {name: Path(path).expanduser().absolute() for name, path in named}


def _types(value: object) -> object:
    """Names of metrics, which may hold blanks: words, or FAI-PEP's JSON list."""
    words = _shell_words(value) if not (isinstance(value, str) and value.lstrip().startswith("[")) else (value,)
    if not isinstance(words, (tuple, list)):
        return words
    found: list[str] = []
    for word in map(str, words):
        found += _json_list(word, "regressed_types") if word.lstrip().startswith("[") else [word]
    return tuple(found)


def _json_list(text: str, name: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", hint='a JSON list, as in ["NET"]') from error
    return [str(item) for item in found]  # what begins with a bracket and is JSON is a list


def _named_reporters(value: object) -> object:
    items = _shell_words(value)
    if not isinstance(items, (tuple, list)):
        return items
    return {str(item).partition("=")[0]: str(item).partition("=")[2] for item in items}


def _json_object(value: object, name: str = "string_map") -> object:
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", hint='a JSON object, as in {"size": 224}') from error
    if not isinstance(found, dict):
        raise UsageError(f"{name}: not a JSON object", hint='as in {"size": 224}')
    return found


def _meta(value: object) -> object:
    return _json_object(value, "meta")


def _cpus(value: object) -> object:
    """`2,3`, `0-3` or `none` as CPU numbers."""
    if not isinstance(value, str):
        return value
    if value == "none":
        return ()
    numbers: list[int] = []
    for part in value.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise UsageError(f"cpus: `{value}` is no list of CPUs", hint="as in 2,3 or 0-3 or none")
        numbers.extend(range(int(first), int(last or first) + 1))
    return tuple(numbers)


_TAKE_APART: Mapping[str, Callable[[object], object]] = {
    **dict.fromkeys(_PATHS, _place),
    "benchmark_file": _files,
    "only": _shell_words,
    "skip": _shell_words,
    "meta": _meta,
    "devices": _words,
    "excluded_devices": _words,
    "env": _pairs,
    "program": _programs,
    "regressed_types": _types,
    "reporters": _named_reporters,
    "string_map": _json_object,
    "cpus": _cpus,
}
