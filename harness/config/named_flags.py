"""Parsing a command line with the flags that it names, instead of all.

The parser makes sixteen objects of each flag that a command takes, and a measuring command takes a hundred, of which
most command lines name two. A flag that is not named has the value that it would have had anyway.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, make_dataclass
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from cyclopts import Parameter

if TYPE_CHECKING:
    from cyclopts import App


@contextlib.contextmanager
def parse_named(app: App, tokens: Sequence[str]) -> Iterator[None]:
    """Let the command of a command line take the flags that the command line names, and no others, for a while.

    It takes all of them where a word with a dash is anything else than a flag that is spelt out: then help, and the
    error of an unknown flag, know every flag.

    Args:
        app: The commands.
        tokens: The words of the command line.
    """
    named = {token.partition("=")[0] for token in tokens if token.startswith("-")}
    command = app.parse_commands(tokens)[1][-1]
    asks_for_help = not named.isdisjoint((*app.help_flags, *app.version_flags))
    function = None if asks_for_help else command.default_command
    reduced = None if function is None else _reduce(inspect.unwrap(function), named)
    if reduced is None:
        yield
        return
    command.default_command = reduced
    try:
        yield
    finally:
        command.default_command = function


def _reduce(function: Callable[..., Any], named: Collection[str]) -> Callable[..., Any] | None:
    """Return a function that takes no flags but those that are named; None where one is not known here."""
    hints = get_type_hints(function, include_extras=True)
    fields_of = {name: get_type_hints(hint, include_extras=True) for name, hint in hints.items() if is_dataclass(hint)}
    known = {flag: (name, "") for name, hint in hints.items() if name not in fields_of for flag in _flags(name, hint)}
    for name, members in fields_of.items():
        known |= {flag: (name, field) for field, hint in members.items() for flag in _flags(field, hint)}
    if not known.keys() >= set(named):
        return None
    places = {known[flag] for flag in named}
    kept = {name: {field: hint for field, hint in members.items() if (name, field) in places}
            for name, members in fields_of.items()}  # fmt: skip
    types = {name: _class_of(members) for name, members in kept.items() if members}
    dropped = fields_of.keys() - types.keys()
    return _adapt(function, hints | types, dropped)


def _flags(name: str, hint: object) -> list[str]:
    """Return the flags of a parameter or a field, as far as they are known without the parser."""
    value, *metadata = get_args(hint) or (hint,)
    parameter = Parameter.combine(*(part for part in metadata if isinstance(part, Parameter)))
    flags = list(parameter.name or (f"--{name.replace('_', '-')}",))
    if bool not in {value, *get_args(value)}:
        return flags
    if parameter.negative is None:
        return flags + [f"--no-{flag[2:]}" for flag in flags if flag.startswith("--")]
    return flags + [flag for flag in parameter.negative if flag.startswith("--")]


def _class_of(members: Mapping[str, object]) -> type:
    """Return a class of some flags of another one. None where the command line says nothing."""
    made = make_dataclass(
        "NamedFlags",
        [(name, hint, None) for name, hint in members.items()],
        namespace={"__module__": __name__},  # without one it is taken for a class of the standard library
        frozen=True,
        kw_only=True,
        eq=False,
        repr=False,
    )
    return Parameter(name="*")(made)


def _adapt(function: Callable[..., Any], hints: Mapping[str, object], dropped: Collection[str]) -> Callable[..., Any]:
    """Return a function with some classes of flags reduced, and others left out, which calls the one with all."""
    whole = inspect.signature(function)
    whole_hints = get_type_hints(function)
    kept = [parameter for name, parameter in whole.parameters.items() if name not in dropped]
    signature = whole.replace(parameters=kept)

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        given = inspect.BoundArguments(whole, signature.bind(*args, **kwargs).arguments)
        for name, value in given.arguments.items():
            if is_dataclass(value) and not isinstance(value, (whole_hints[name], type)):
                named = {field.name: getattr(value, field.name) for field in fields(value)}
                given.arguments[name] = whole_hints[name](**named)
        return function(*given.args, **given.kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined] # which `inspect.signature` looks for
    call.__annotations__ = {name: hint for name, hint in hints.items() if name not in dropped}
    return call
