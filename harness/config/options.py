"""Declarations of options: one each for `--help`, the command line, the saved defaults, the environment and files.

A class declares options as annotated fields of a frozen dataclass:

    timeout: Annotated[float | None, Option("Seconds that a program may take.")] = None

The name of the field is the key in the saved defaults and in `default_args`, `HARNESS_TIMEOUT` is its variable, and
`--timeout` its flag. `Settings` declares the options of the harness, a plug-in those of its own.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import types
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Protocol, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from harness.config import parsing
from harness.core.errors import EnvironmentProblem

PREFIX: Final = "HARNESS_"
"""Begins the name of each variable."""


class Option(Struct, frozen=True):
    """Declaration of an option, beside its name, type and default.

    Attributes:
        help: Text of `--help`.
        heading: Heading of `--help` under which it stands; None takes that of its class.
        flags: Names of its flag, where that is not the name of the field; long ones are keys and variables, too.
            Empty for an option that is no flag.
        parse: Turns a text, or several words, into a value; None does what fits the type.
        words: Whether the command line takes several words, which `parse` turns into a value; None: if it is a tuple.
        choices: Words that the command line takes; empty for any, and for a type that says so itself.
        inspecting: Whether commands that measure nothing, such as `harness devices`, have the flag.
        saved: Whether it can be a saved default.
        leading_hyphen: Whether the value may begin with a hyphen.
        in_specifications: Whether `default_args` of a specification may set it. A file from somebody else says what to
            measure, and how: not where results go, which files are touched or what else runs.
        value: What `--help` calls the value: `SECONDS`; None calls it by its type.
        of_device: Whether it asks to do something to each device: refused where the platform does not name it
            (`Adjustable`). Defaults, saved ones and variables count where the platform can.
    """

    help: str
    heading: str | None = None
    flags: tuple[str, ...] | None = None
    parse: Callable[[object], object] | None = None
    words: bool | None = None
    choices: tuple[str, ...] = ()
    inspecting: bool = False
    saved: bool = True
    leading_hyphen: bool = False
    in_specifications: bool = True
    of_device: bool = False
    value: str | None = None


class PlugInOptions(Protocol):
    """Options of a plug-in: a frozen dataclass all of whose fields have a default and are annotated with `Option`.

    The entry point in the group `edge_harness.options` names the class. Its module imports nothing heavy: it is loaded
    for `harness --help`. `Settings.of` gives the plug-in its options.
    """

    heading: ClassVar[str]
    """Heading of the options in `--help`."""


class DeclaredOption(Struct, frozen=True):
    """An option with everything that its declaration says.

    Attributes:
        name: Name of the field.
        owner: Class that declares it.
        annotation: Type of the value, with the declaration and the bounds beside it.
        default: Default value; None where it depends on the machine.
        option: The rest of the declaration.
    """

    name: str
    owner: type
    annotation: object
    default: object
    option: Option

    @property
    def type(self) -> object:
        """Type of the value."""
        return get_args(self.annotation)[0]

    @property
    def heading(self) -> str:
        """Heading of `--help`."""
        return self.option.heading or str(getattr(self.owner, "heading", self.owner.__name__))

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of its flag, with dashes."""
        return (f"--{self.name.replace('_', '-')}",) if self.option.flags is None else self.option.flags

    @property
    def negative_flags(self) -> tuple[str, ...]:
        """Names of the flag that switches it off, `--no-NAME`; none where it is off by default."""
        if self.bare_type is not bool or self.default is False:
            return ()
        return tuple(f"--no-{flag[2:]}" for flag in self.flags if flag.startswith("--"))

    @property
    def shown_default(self) -> str:
        """Default as `--help` shows it; empty where there is none, or one that needs no words."""
        field = next(field for field in dataclasses.fields(self.owner) if field.name == self.name)
        made = field.default_factory() if field.default_factory is not dataclasses.MISSING else self.default
        if made is None or made is False or made is True or not made:
            return ""
        if isinstance(made, Path):
            return str(made).replace(str(Path.home()), "~", 1)
        return f"{made:g}" if isinstance(made, float) else str(made)

    @property
    def flag(self) -> str:
        """Name of the flag in messages; that of the field where there is no flag."""
        return next((flag for flag in self.flags if flag.startswith("--")), self.name)

    @property
    def keys(self) -> tuple[str, ...]:
        """Names in files, and in lower case of the variables."""
        long_flags = (flag[2:].replace("-", "_") for flag in self.flags if flag.startswith("--"))
        return tuple(dict.fromkeys((self.name, *long_flags)))

    @property
    def bare_type(self) -> object:
        """Type of the value where there is one: without None and without bounds, which the class checks."""
        if get_origin(self.type) not in {Union, types.UnionType}:
            return _without_bounds(self.type)
        rest = tuple(_without_bounds(part) for part in get_args(self.type) if part is not types.NoneType)
        return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007 - the parts are known at run time only

    @property
    def takes_words(self) -> bool:
        """True if the command line takes several words."""
        return get_origin(self.bare_type) is tuple if self.option.words is None else self.option.words

    def parse(self, value: object) -> object:
        """Turn a text or words into a value; what is a value already stays as it is.

        Raises:
            UsageError: The text cannot be what was meant.
        """
        if self.option.parse is not None:
            return self.option.parse(value)
        if self.bare_type is Path:
            return parsing.parse_path(value)
        return parsing.split_shell_words(value) if self.takes_words else value


class OptionTable:
    """All options of a command: those of the harness and those of the installed plug-ins.

    Args:
        owners: Classes that declare options.
        reserved: Flags that are no options, with dashes: no option takes their names.

    Raises:
        EnvironmentProblem: Two of them declare the same option or flag, or one declares a reserved flag.
    """

    def __init__(self, *owners: type, reserved: Collection[str] = ()) -> None:
        self.owners: tuple[type, ...] = ()
        self.options: tuple[DeclaredOption, ...] = ()
        self._by_key: dict[str, DeclaredOption] = {}
        self._by_flag: dict[str, DeclaredOption] = {}
        self._reserved = reserved
        for owner in dict.fromkeys(owners):
            self._add(owner)

    def with_options_of(self, owner: type) -> OptionTable:
        """Return a table with the options of one more class. Errors as of the constructor."""
        joined = copy.copy(self)
        joined._by_key, joined._by_flag = dict(self._by_key), dict(self._by_flag)  # noqa: SLF001 - of this class
        joined._add(owner)  # noqa: SLF001 - of this class
        return joined

    def _add(self, owner: type) -> None:
        for option in declared_options(owner):
            _reject_reserved(option, self._reserved)
            for key in option.keys:
                _add_option(self._by_key, key, option)
            for flag in (*option.flags, *option.negative_flags):
                _add_option(self._by_flag, flag.replace("_", "-"), option)
        self.owners = (*self.owners, owner)
        self.options = (*self.options, *declared_options(owner))

    def find(self, key: str) -> DeclaredOption | None:
        """Return the option of a key as it stands in files, with dashes or underscores; None where there is none."""
        return self._by_key.get(key.lstrip("-").replace("-", "_"))

    @property
    def keys(self) -> Collection[str]:
        """Every name of every option, as in files."""
        return self._by_key.keys()

    @property
    def protected_keys(self) -> frozenset[str]:
        """Names of the options that `default_args` of a specification may not set, short flags among them."""
        protected = [option for option in self.options if not option.option.in_specifications]
        names = {name for option in protected for name in (*option.keys, *option.flags)}
        return frozenset(name.lstrip("-").replace("-", "_") for name in names)

    @property
    def variables(self) -> Mapping[str, DeclaredOption]:
        """Every variable of the environment that sets an option."""
        return {f"{PREFIX}{key.upper()}": option for key, option in self._by_key.items()}


@functools.cache
def declared_options(owner: type) -> tuple[DeclaredOption, ...]:
    """Return the options that a dataclass declares, in their order.

    Raises:
        EnvironmentProblem: It is no dataclass, or an option of it has no default or a type that cannot be parsed.
    """
    if not dataclasses.is_dataclass(owner):
        raise EnvironmentProblem(f"{_full_name(owner)} declares no options: it is no dataclass")
    hints = get_type_hints(owner, include_extras=True)
    options = tuple(
        DeclaredOption(field.name, owner, hints[field.name], _default(field, owner), option)
        for field in dataclasses.fields(owner)
        for option in getattr(hints[field.name], "__metadata__", ())
        if isinstance(option, Option)
    )
    for option in options:
        if option.option.parse is None and not _is_supported(option.bare_type):
            raise EnvironmentProblem(
                f"the option `{option.name}` of {_full_name(owner)} has a type that options cannot have",
                hint="use str, int, float, bool, Path, Literal, tuples of these or dict, or give the option a `parse`",
            )
    return options


def _is_supported(value_type: object) -> bool:
    """Return whether texts and words of the command line fit a type without a parser of its own."""
    origin, parts = get_origin(value_type), get_args(value_type)
    if origin in {Union, types.UnionType, tuple}:
        return all(part is Ellipsis or _is_single_value(_without_bounds(part)) for part in parts)
    return origin is dict or value_type is dict or _is_single_value(value_type)


def _is_single_value(value_type: object) -> bool:
    return get_origin(value_type) is Literal or any(value_type is single for single in (str, int, float, bool, Path))


def _reject_reserved(option: DeclaredOption, reserved: Collection[str]) -> None:
    """Reject an option whose flag or field would replace what commands have besides options."""
    names = (f"--{option.name}", *option.flags, *option.negative_flags) if option.flags else ()
    for name in names:
        if name.replace("_", "-") in reserved:
            both = f"{_full_name(option.owner)} and the commands of the harness"
            raise EnvironmentProblem(f"{both} declare the same flag `{name}`", hint="rename the option")


def _add_option(options: dict[str, DeclaredOption], name: str, option: DeclaredOption) -> None:
    other = options.setdefault(name, option)
    if other is not option:
        both = f"{_full_name(option.owner)} and {_full_name(other.owner)}"
        raise EnvironmentProblem(f"{both} declare the same option `{name}`", hint="rename one of them")


def _default(field: dataclasses.Field[object], owner: type) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is dataclasses.MISSING:
        raise EnvironmentProblem(f"the option `{field.name}` of {_full_name(owner)} has no default")
    return None


def _without_bounds(value_type: object) -> object:
    return get_args(value_type)[0] if get_origin(value_type) is Annotated else value_type


def _full_name(owner: type) -> str:
    return f"{owner.__module__}.{owner.__qualname__}"
