"""How `Settings` come about: defaults < saved configuration < environment < `default_args` of the file < flags."""

from __future__ import annotations

import difflib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.config.parsing import first_mistake, taken_apart
from harness.config.settings import Settings, default_config_dir
from harness.core.errors import UsageError
from harness.core.placeholders import suggest

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


def _normal(source: str, layer: Layer) -> dict[str, object]:
    """One layer by field names, its texts taken apart."""
    found: dict[str, object] = {}
    for key, value in layer.items():
        name = _field(key)
        if name not in _FIELDS:
            raise UsageError(f"{source}: no setting `{key}`", hint=suggest(name, _FIELDS))
        if value is not None:
            found[name] = taken_apart(name, value)
    return found


def _field(key: str) -> str:
    name = key.removeprefix("--").removeprefix("-").replace("-", "_")
    return _ALIASES.get(name, name)


def _validated(merged: Mapping[str, object]) -> Settings:
    try:
        return TypeAdapter(Settings).validate_python(merged)
    except ValidationError as error:
        raise UsageError(first_mistake(error), hint="`harness --help` lists every setting") from error


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
