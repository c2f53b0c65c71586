"""What is typed for a setting, as a value: one text from the environment or a file, or words from the command line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from pydantic import ValidationError

from harness.core.errors import UsageError

PATHS: Final = ("model_cache", "cache_dir", "root_model_dir", "local_reporter", "simple_local_reporter")
"""Settings that are one path each."""


def taken_apart(name: str, value: object) -> object:
    """The value of a setting, by its name; what is no text, and means something as it is, stays so.

    Raises:
        UsageError: It cannot be what was meant.
    """
    return _TAKE_APART.get(name, _as_it_is)(value)


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
    """`PATH` or `NAME=PATH`, several of them, by name; the nameless one is `program`.

    Raises:
        UsageError: One is no file, or two have one name.
    """
    found: dict[str, Path] = {}
    for item in items:
        name, location = item.split("=", 1) if "=" in item else ("program", item)
        path = Path(location).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no program {path}", hint="name an executable file: PATH or NAME=PATH")
        if name in found:
            raise UsageError(f"two programs are called `{name}`: {found[name]} and {path}", hint="as in NAME=PATH")
        found[name] = path.absolute()
    return found


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
    found: dict[str, str] = {}
    for item in map(str, items):
        name, _, argument = item.partition("=")
        if found.get(name, argument) != argument:
            raise UsageError(f"the reporter `{name}` is asked for twice: {found[name]} and {argument}")
        found[name] = argument
    return found


def json_object(value: object, name: str = "string_map") -> object:
    """A text as a JSON object; what is no text stays as it is.

    Raises:
        UsageError: It is none.
    """
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
    return json_object(value, "meta")


def _cpus(value: object) -> object:
    """`2,3`, `0-3` or `none` as CPU numbers."""
    if not isinstance(value, str):
        return value
    if value == "none":
        return ()
    numbers: list[int] = []
    for part in value.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            raise UsageError(f"cpus: `{value}` is no list of CPUs", hint="as in 2,3 or 0-3 or none")
        numbers.extend(range(int(first), int(last) + 1))
    return tuple(numbers)


def first_mistake(error: ValidationError) -> str:
    """What is wrong with the first value that does not fit, in words."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg'].lower()}"


_TAKE_APART: Mapping[str, Callable[[object], object]] = {
    **dict.fromkeys(PATHS, _place),
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
    "string_map": json_object,
    "cpus": _cpus,
}
