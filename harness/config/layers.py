"""The layers of settings: defaults < saved defaults < project < environment < `default_args` of the file < flags."""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_origin

from pydantic import TypeAdapter, ValidationError

from harness.config.options import PREFIX, DeclaredOption, OptionTable
from harness.config.parsing import describe_mistake, parse_files
from harness.config.project import ProjectDefaults
from harness.config.settings import Settings, default_config_dir
from harness.core.errors import UsageError
from harness.core.placeholders import suggest
from harness.files.reading import read_bounded

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_OTHER_VARIABLES: Final = frozenset(
    {
        *("HARNESS_CONFIG_DIR", "HARNESS_REMOTE_TOKEN", "HARNESS_REMOTE_TOKEN_FILE", "HARNESS_IOS_TEAM"),
        *("HARNESS_PYTHON", "HARNESS_JOBS", "HARNESS_BUILD_DIR", "HARNESS_ABI", "HARNESS_RUNNER_SOURCE"),
        "HARNESS_PADDING",
        *("HARNESS_HOOK_SECRET", "HARNESS_ALARM_FILE", "HARNESS_ALARM_KEY"),
    }
)
"""Variables that are no options: secrets, and those that recipes and commands of the user's are given."""

_IDENTIFIER: Final = "_ID"
"""The continuous integration called Harness gives jobs `HARNESS_BUILD_ID` and alike: no misspelt options."""

_EXCLUSIVE: Final = (frozenset({"quiet", "verbose"}),)
"""Options of which the uppermost layer that sets one counts."""

_SIMILAR: Final = 0.8
"""Likeness from which on an unknown variable is taken for a misspelt one."""

Layer = Mapping[str, object]


def resolve(
    flags: Layer,
    *,
    table: OptionTable,
    config: Layer,
    environment: Mapping[str, str],
    default_args: Layer,
    project: ProjectDefaults | None = None,
) -> Settings:
    """Join the layers, later ones first.

    Args:
        flags: What the command line says.
        table: The options that there are.
        config: The saved defaults.
        environment: Every variable.
        default_args: What the specification says.
        project: Defaults of the project, if it has some.

    Raises:
        UsageError: No option has a key, naming the layer; or a value does not fit, naming the flag, and the variable or
            the file that sets it. All mistakes of the project and of variables are told at once.
    """
    try:
        if project is not None and project.mistakes:
            raise next(iter(project.mistakes.values()))
        return _join(
            flags, table=table, config=config, environment=environment, default_args=default_args, project=project
        )
    except UsageError as error:
        starts = ("environment:", PREFIX, *([f"{project.file}:"] if project is not None else ()))
        if not error.message.startswith(starts):
            raise
        in_lab = "lab" in flags or "lab" in default_args
        of_project = _find_mistakes(project, table, in_lab=in_lab) if project is not None else []
        of_variables = _find_mistakes_of_variables(environment, table, in_lab=in_lab)
        mistakes = of_project + of_variables
        if not mistakes:  # each value is right for itself
            raise
        names = [project.file.name] if project is not None and of_project else []
        names += ["the environment"] if of_variables else []
        raise _describe_mistakes(" and ".join(names), mistakes) from error


def _join(
    flags: Layer,
    *,
    table: OptionTable,
    config: Layer,
    environment: Mapping[str, str],
    default_args: Layer,
    project: ProjectDefaults | None,
) -> Settings:
    places: dict[str, str] = {}
    defaults = _parse("saved configuration", config, table)
    if project is not None:
        of_project = {option.name: project.place(key) for key in project.values if (option := table.find(key))}
        defaults = _overlay(defaults, _parse("project", project.values, table, of_project))
        places |= of_project
    variables = {
        table.variables[name].name: name for name in _harness_variables(environment) if name in table.variables
    }
    defaults = _overlay(defaults, _parse("environment", read_environment(environment, table), table, variables))
    places |= variables
    requested = _parse("default_args of the specification", default_args, table) | _parse("flags", flags, table)
    merged = _overlay(defaults, requested)
    places = {name: place for name, place in places.items() if name not in requested}
    if _is_on(merged.get("quiet")) and _is_on(merged.get("verbose")):
        raise UsageError("--quiet beside --verbose", hint="leave one of them out")
    if (backend := merged.get("backend")) is not None:
        merged["command_args"] = f"{merged.get('command_args', '')} --backend {backend}".strip()
    if "cache_dir" in merged:
        merged.setdefault("model_cache", Path(str(merged["cache_dir"])) / "models")
    settings, *plug_ins = (_validate(owner, merged, table, places) for owner in table.owners)
    if not isinstance(settings, Settings):
        raise TypeError(f"the first class of the options is {type(settings).__name__}, and not Settings")
    if "platform" in places and not settings.lab:  # the scheduler of a lab knows those of its hosts
        _reject_unknown_platform(settings.platform, places["platform"])
    return dataclasses.replace(settings, plug_ins=tuple(plug_ins), requested=frozenset(requested), places=places)


def _reject_unknown_platform(name: str, place: str) -> None:
    from harness import plugins  # noqa: PLC0415 - it reads the metadata of what is installed

    try:
        plugins.reject_unknown_platform(name)
    except UsageError as error:
        raise UsageError(f"{place}: {error.message}", hint=error.hint) from error


def _find_mistakes(project: ProjectDefaults, table: OptionTable, *, in_lab: bool) -> list[UsageError]:
    """Return the mistakes of a project's file, in their order."""
    in_lab = in_lab or any(option.name == "lab" for key in project.values if (option := table.find(key)))
    found = (
        project.mistakes[key]
        if key in project.mistakes
        else _find_mistake(key, project.values[key], project.place(key), table, in_lab=in_lab)
        for key in project.keys
    )
    return [mistake for mistake in found if mistake is not None]


def _find_mistakes_of_variables(
    environment: Mapping[str, str], table: OptionTable, *, in_lab: bool
) -> list[UsageError]:
    """Return the mistakes of variables, in the order of the environment."""
    names = _harness_variables(environment)
    in_lab = in_lab or f"{PREFIX}LAB" in names
    known = table.variables
    found = (
        _find_mistake(known[name].name, environment[name], name, table, in_lab=in_lab)
        if name in known
        else _find_misspelling(name, table)
        for name in names
    )
    return [mistake for mistake in found if mistake is not None]


def _describe_mistakes(place: str, mistakes: Sequence[UsageError]) -> UsageError:
    """Return one error for at least one mistake."""
    if len(mistakes) == 1:
        return mistakes[0]
    lines = [f"{mistake.message}\n    hint: {mistake.hint}" for mistake in mistakes]
    return UsageError("\n".join([f"{len(mistakes)} problems in {place}", *lines]))


def _find_mistake(key: str, value: object, place: str, table: OptionTable, *, in_lab: bool) -> UsageError | None:
    """Return what is wrong with the value of a key; None where nothing is, or no option has the key."""
    option = table.find(key)
    if option is None:
        return None
    places = {option.name: place}
    try:
        parsed = _parse(place, {key: value}, table, places)
        _validate(option.owner, parsed, table, places)
        if option.name == "platform" and not in_lab:
            _reject_unknown_platform(str(parsed[option.name]), place)
    except UsageError as error:
        is_of_value = error.message.startswith(place)  # else it asks for other options beside this one
        return error if is_of_value else None
    return None


def read_environment(environment: Mapping[str, str], table: OptionTable) -> Layer:
    """Return what the environment sets: `HARNESS_MODEL_CACHE=/x` sets `model_cache`.

    Raises:
        UsageError: A variable is called nearly like that of an option.
    """
    for name in _harness_variables(environment):
        if (mistake := _find_misspelling(name, table)) is not None:
            raise mistake
    return _read_known(environment, table)


def _read_known(environment: Mapping[str, str], table: OptionTable) -> Layer:
    known = table.variables
    return {known[name].name: environment[name] for name in _harness_variables(environment) if name in known}


def _find_misspelling(name: str, table: OptionTable) -> UsageError | None:
    """Return the error of a variable that is called nearly like that of an option; None for any other."""
    known = table.variables
    if name in known or name.endswith(_IDENTIFIER):
        return None
    similar = difflib.get_close_matches(name, sorted({*known, *_OTHER_VARIABLES}), n=1, cutoff=_SIMILAR)
    if not similar:  # such as `HARNESS_BRANCH`, which may be somebody else's
        return None
    from harness.config.flags import find_flag_without_default, is_flag_of_measuring  # noqa: PLC0415 - seldom needed

    flag = find_flag_without_default(name.removeprefix(PREFIX).lower())
    if flag is not None and not is_flag_of_measuring(flag):  # such as `HARNESS_HOST`
        return None
    if flag is not None:
        problem = f"environment: `{name}` sets nothing: {flag} belongs on the command line"
        return UsageError(problem, hint=f"unset it, and give {flag} to the commands that take it")
    return UsageError(f"environment: no setting `{name}`", hint=f"did you mean {similar[0]}?")


def specifications_of(environment: Mapping[str, str], table: OptionTable) -> tuple[Path, ...]:
    """Return the specification that the environment names, if any."""
    named = _read_known(environment, table).get("benchmark_file")
    files = parse_files(named) if named else ()
    return files if isinstance(files, tuple) else ()


def unknown_variables(environment: Mapping[str, str], table: OptionTable) -> tuple[str, ...]:
    """Return the variables with our prefix that mean nothing."""
    names = set(_harness_variables(environment)) - set(table.variables)
    return tuple(sorted(name for name in names if not name.endswith(_IDENTIFIER)))


def _harness_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that are set and might be options."""
    prefixed = (name for name in environment if name.startswith(PREFIX) and environment[name])
    return [name for name in prefixed if name not in _OTHER_VARIABLES]


def config_file(folder: Path | None) -> Path:
    """Return the file of the saved defaults."""
    return (folder or Path(os.environ.get("HARNESS_CONFIG_DIR", "") or default_config_dir())) / "config.json"


def read_config(path: Path, table: OptionTable) -> Layer:
    """Read the saved defaults; none when there is no file.

    Raises:
        UsageError: The file is damaged, or has what belongs to one run.
    """
    if not path.exists():
        return {}
    try:
        saved = json.loads(read_bounded(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}", hint="mend it, or forget it with --reset-options") from error
    if not isinstance(saved, dict):
        raise UsageError(f"{path}: expected a JSON object", hint="forget it with --reset-options")
    # FAI-PEP saved the flags of the first run along with the answers.
    options = (table.find(key) for key in saved)
    of_one_run = sorted({option.name for option in options if option is not None and not option.option.saved})
    if of_one_run:
        raise UsageError(f"{path}: {', '.join(of_one_run)} belongs on the command line", hint="remove it from the file")
    return saved


def _parse(source: str, layer: Layer, table: OptionTable, places: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the values of a layer by the names of the options; an error names the place of the option, if any."""
    values: dict[str, object] = {}
    for key, value in layer.items():
        option = table.find(key)
        if option is None:
            name = key.lstrip("-").replace("-", "_")
            raise UsageError(f"{source}: no setting `{key}`", hint=suggest(name, table.keys))
        try:
            parsed = None if value is None else option.parse(value)
        except UsageError as error:
            place = (places or {}).get(option.name)
            raise error if place is None else UsageError(f"{place}: {error.message}", hint=error.hint) from error
        if parsed is not None:
            values[option.name] = parsed
    return values


def _overlay(below: Layer, above: Layer) -> dict[str, object]:
    """Return the values of both layers; an option of the upper one replaces those that it excludes."""
    excluded = {
        name for names in _EXCLUSIVE for name in names - above.keys() if any(_is_on(above.get(name)) for name in names)
    }
    return {**{name: value for name, value in below.items() if name not in excluded}, **above}


def _is_on(value: object) -> bool:
    """Return whether a switch is on; in the environment it is a text."""
    return str(value).lower() in {"true", "1", "yes", "y", "on", "t"}


def _validate(owner: type, merged: Mapping[str, object], table: OptionTable, places: Mapping[str, str]) -> object:
    """Make the options of one class.

    No fields of our own settings depend on each other, so that what is given is validated: to make a validator of all
    takes ten milliseconds.

    Raises:
        UsageError: A value does not fit.
    """
    given = [option for option in table.options if option.owner is owner and option.name in merged]
    if not given:
        return owner()
    if owner is Settings:
        values: dict[str, Any] = {option.name: _validate_value(option, merged[option.name], places) for option in given}
        return dataclasses.replace(Settings(), **values)
    try:
        return TypeAdapter(owner).validate_python({option.name: merged[option.name] for option in given})
    except ValidationError as error:
        raise _wrong_value(error, table, places) from error


def _wrong_value(error: ValidationError, table: OptionTable, places: Mapping[str, str]) -> UsageError:
    """Describe the first value that does not fit, and the variable or the file that sets it."""
    first = error.errors()[0]
    option = table.find(str(first["loc"][0])) if first["loc"] else None
    if option is None:
        return UsageError(describe_mistake(first), hint="`harness run --help` lists every option")
    return _describe_wrong(option, first, first["loc"][1:], places)


def _validate_value(option: DeclaredOption, value: object, places: Mapping[str, str]) -> object:
    """Return a value as its option has it.

    Raises:
        UsageError: It does not fit; with the variable or the file that sets it.
    """
    try:
        validator: TypeAdapter[object] = TypeAdapter(option.annotation)  # type: ignore[arg-type] # known at run time
        return validator.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise _describe_wrong(option, first, first["loc"], places) from error


def _describe_wrong(
    option: DeclaredOption, error: ErrorDetails, below: Sequence[int | str], places: Mapping[str, str]
) -> UsageError:
    """Describe a value that does not fit an option; `below` is where it is in a dict."""
    problem, wrong = describe_mistake(error), error["input"]
    given = f" {wrong:g}" if isinstance(wrong, float) else f" {wrong}" if isinstance(wrong, str | int) else ""
    if get_origin(option.bare_type) is dict and below:
        given = f" `{below[0]}`{given}"
    place = f"{places[option.name]}: " if option.name in places else ""
    return UsageError(
        f"{place}{option.flag}{given}: {problem}", hint=f"`harness run --help` says what {option.flag} takes"
    )
