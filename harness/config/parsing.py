"""Parsing of values: a text from the environment or a file, or words from the command line."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from harness.config import built_in
from harness.core.errors import UsageError
from harness.core.scalars import suggest_share

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


LARGEST_CPU: Final = 4095
CpuKind = Literal["prime", "big", "little"]
"""Kinds of CPUs of a device: the fastest, the fastest of which there are several, the slowest."""
"""Larger CPU numbers are typing errors."""
_CPU: Final = re.compile(r"[0-9]{1,5}")
_SHOWN: Final = 200
"""Characters of a value that a message quotes."""


def shorten(value: str) -> str:
    """Return a value as messages quote it: whole where it is short, else its beginning and its length."""
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}... ({len(value)} characters)"


def parse_path(value: object) -> object:
    """Return an absolute path: it means the same wherever a program is started."""
    return Path(value).expanduser().absolute() if isinstance(value, (str, Path)) else value


def parse_database(value: object) -> object:
    """Return the URL of a database as it is, an absolute path of a file, or None for an empty text (not given)."""
    if not isinstance(value, (str, Path)) or "://" in str(value):
        return value
    return str(parse_path(value)) if str(value) else None


def parse_files(value: object) -> object:
    """Return the files of specifications, which paths or built-in names stand for.

    Relative paths stay relative, so that messages show them as they were typed.

    Raises:
        UsageError: A word is neither.
    """
    if isinstance(value, (str, Path)):
        return (_locate(value),)
    return tuple(map(_locate, value)) if isinstance(value, (tuple, list)) else value


def _locate(item: object) -> Path:
    return item.expanduser() if isinstance(item, Path) else built_in.locate_specification(str(item))


def parse_optional_text(value: object) -> object:
    """Return None for an empty text, which counts as not given."""
    return None if value == "" else value


def split_shell_words(value: object) -> object:
    """Split a text as a shell would.

    Raises:
        UsageError: A quotation mark is missing.
    """
    if not isinstance(value, str):
        return value
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise UsageError(f"`{value}`: {error}", hint="close the quotes") from error


def split_words(value: object) -> object:
    """Split `a,b c` into (`a`, `b`, `c`)."""
    items = (value,) if isinstance(value, str) else cast("tuple[object, ...]", value)
    return tuple(word for item in items for word in str(item).replace(",", " ").split())


def parse_devices(value: object) -> object:
    """Split names as `split_words` does; FAI-PEP's form `{"kind": "Pixel 8", "hash": "1A2B"}` names the device `1A2B`.

    Raises:
        UsageError: An object has no `hash`, or is no JSON.
    """
    items = (value,) if isinstance(value, str) else cast("tuple[object, ...]", value)
    names: list[str] = []
    for item in map(str, items):
        names += [_device_of(item)] if item.lstrip().startswith("{") else cast("tuple[str, ...]", split_words(item))
    return tuple(names)


def _device_of(text: str) -> str:
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = {}
    identity = parsed.get("hash") if isinstance(parsed, dict) else None
    if not isinstance(identity, str) or not identity:
        raise UsageError(f"device: `{text}` has no `hash`", hint='a name, or as in {"kind": "Pixel 8", "hash": "1A2B"}')
    return identity


def parse_pairs(value: object) -> object:
    """Parse `A=1 B=2` as a mapping.

    Raises:
        UsageError: A word has no `=`.
    """
    if not isinstance(value, (str, tuple, list)):
        return value
    items = value.split() if isinstance(value, str) else value
    broken = [item for item in items if "=" not in str(item)]
    if broken:
        raise UsageError(f"`{broken[0]}` is not NAME=VALUE", hint="as in --env A=1 B=2")
    return dict(str(item).split("=", 1) for item in items)


def parse_programs(value: object) -> object:
    """Parse `PATH` or `NAME=PATH`, or several of them, as paths by name.

    Raises:
        UsageError: A path is no file, or two have one name.
    """
    if not isinstance(value, (str, tuple, list)):
        return value
    return find_programs((value,) if isinstance(value, str) else [str(item) for item in value])


def find_programs(items: Sequence[str]) -> dict[str, Path]:
    """Return programs by name, from `PATH` or `NAME=PATH` each; the one without a name is `program`.

    Raises:
        UsageError: A path is no file, or two have one name.
    """
    programs: dict[str, Path] = {}
    for item in items:
        name, location = item.split("=", 1) if "=" in item and not Path(item).is_file() else ("program", item)
        path = Path(location).expanduser()
        if path.is_dir():
            raise UsageError(f"{path} is a folder, and no program", hint="name the executable file in it")
        if not path.is_file():
            raise UsageError(f"there is no program {location}", hint="name an executable file: PATH or NAME=PATH")
        if name in programs:
            raise UsageError(f"two programs are called `{name}`: {programs[name]} and {path}", hint="as in NAME=PATH")
        programs[name] = path.absolute()
    return programs


def parse_metric_names(value: object) -> object:
    """Parse names of metrics, which may hold blanks: shell words, or FAI-PEP's JSON list.

    Raises:
        UsageError: It is neither.
    """
    words = split_shell_words(value) if not (isinstance(value, str) and value.lstrip().startswith("[")) else (value,)
    if not isinstance(words, (tuple, list)):
        return words
    names: list[str] = []
    for word in map(str, words):
        names += _parse_json_list(word, "regressed_types") if word.lstrip().startswith("[") else [word]
    return tuple(names)


def _parse_json_list(text: str, name: str) -> list[str]:
    try:
        items = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", hint='a JSON list, as in ["NET"]') from error
    return [str(item) for item in items]  # valid JSON that begins with a bracket is a list


def parse_reporters(value: object) -> object:
    """Parse `NAME` or `NAME=ARGUMENT`, or several of them, as arguments by name.

    Raises:
        UsageError: A reporter has two different arguments.
    """
    items = split_shell_words(value)
    if not isinstance(items, (tuple, list)):
        return items
    reporters: dict[str, str] = {}
    for item in map(str, items):
        name, _, argument = item.partition("=")
        if reporters.get(name, argument) != argument:
            raise UsageError(f"the reporter `{name}` is asked for twice: {reporters[name]} and {argument}")
        reporters[name] = argument
    return reporters


def parse_string_map(value: object) -> object:
    """Parse a JSON object of placeholders.

    Raises:
        UsageError: It is no JSON object.
    """
    return _parse_json_object(value, "string_map")


def parse_monsoon_map(value: object) -> object:
    """Parse a JSON object of serial numbers of meters by device; numbers become texts.

    Raises:
        UsageError: It is no JSON object, or a serial number is none.
    """
    parsed = _parse_json_object(value, "monsoon_map")
    if not isinstance(parsed, dict):
        return parsed
    for device, serial in parsed.items():
        if isinstance(serial, bool) or not isinstance(serial, int | str) or not str(serial).strip():
            raise UsageError(
                f"monsoon_map: the serial number of {device!r} is {json.dumps(serial)}",
                hint='device and serial number of its meter, as in {"Pixel 6": 12345}',
            )
    return {str(device): str(serial).strip() for device, serial in parsed.items()}


def parse_meta(value: object) -> object:
    """Parse a JSON object of free values.

    Raises:
        UsageError: It is no JSON object.
    """
    return _parse_json_object(value, "meta")


def _parse_json_object(value: object, name: str) -> object:
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", hint='a JSON object, as in {"size": 224}') from error
    if not isinstance(parsed, dict):
        raise UsageError(f"{name}: not a JSON object", hint='as in {"size": 224}')
    return parsed


def parse_precision(value: object) -> object:
    """Parse a share such as 0.02, or `none` as infinite: any precision suffices.

    Raises:
        UsageError: It is no share, not more than nothing, or 1 or more: probably percent.
    """
    if value == "none":
        return math.inf
    try:
        precision = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        precision = math.nan
    if not precision > 0:
        raise UsageError(f"precision: `{shorten(str(value))}` is no share above 0", hint="0.02 is ±2 %; or none")
    if precision != math.inf:
        reject_percent("precision", precision)
    return precision


def reject_percent(name: str, share: float) -> None:
    """Reject a share of 1 or more, which would be satisfied by anything: it was probably meant in percent.

    Raises:
        UsageError: It is one.
    """
    if share >= 1:
        raise UsageError(
            f"{name}: {share:g} is {100 * share:g} %; a share is below 1", hint=suggest_share(share) or "0.02 is 2 %"
        )


def parse_cpus(value: object) -> object:
    """Parse `2,3`, `0-3` or `none` as CPU numbers; the words of `CpuKind` stay.

    Raises:
        UsageError: It is none of these.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # a file has numbers
    if not isinstance(value, str) or value in get_args(CpuKind):
        return value
    if value == "none":
        return ()
    numbers: list[int] = []
    for part in value.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (_CPU.fullmatch(first) and _CPU.fullmatch(last) and int(first) <= int(last) <= LARGEST_CPU):
            hint = f"as in 2,3 or 0-3 or none, or {', '.join(get_args(CpuKind))}; the largest number is {LARGEST_CPU}"
            raise UsageError(f"cpus: `{shorten(value)}` is no list of CPUs", hint=hint)
        numbers.extend(range(int(first), int(last) + 1))
    return tuple(dict.fromkeys(numbers))


_EXPECTED: Final = {
    **dict.fromkeys(("float_parsing", "float_type"), "input should be a valid number"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "input should be a valid integer"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "input should be true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "input should be a list"),
    "dict_type": "input should be a table of names and values",
    "path_type": "input should be a path",
    "string_type": "input should be a text",
}
"""What is wrong with values of the wrong type, by pydantic's names of the mistakes."""
_PYTHON_TYPES: Final = {"int": "a whole number", "float": "a number", "bool": "true or false", "Path": "a path"}


def describe_mistake(error: ErrorDetails) -> str:
    """Return what is wrong with a value, without the words of Python."""
    return _EXPECTED.get(error["type"]) or error["msg"].lower().removeprefix("value error, ")


def describe_mistyped(message: str) -> str:
    """Return a message of the command line's parser with types in words: `unable to convert "x" into a number`."""
    return re.sub(r"(?<= into )\w+(?=\.)", lambda name: _PYTHON_TYPES.get(name[0], name[0]), message)


def describe_first_mistake(error: ValidationError) -> str:
    """Return what is wrong with the first value that does not fit, and its place."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {describe_mistake(first)}" if place else describe_mistake(first)
