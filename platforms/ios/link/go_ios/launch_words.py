"""Words with which go-ios passes arguments and variables to an app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core.errors import BenchmarkUnsupported
from platforms.ios.link.words import is_passable, shorten


def launch_words(arguments: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the options that pass arguments and variables to an app.

    Raises:
        BenchmarkUnsupported: go-ios 1.2 cannot pass them: it cuts the value of a variable at `=`.
    """
    for name, value in env.items():
        if "=" in value or not name or "=" in name or not is_passable(name + value):
            raise BenchmarkUnsupported(
                f"go-ios cannot pass the variable {shorten(name)}={shorten(value)} to an app",
                hint="values must not contain `=` or NUL; pass it as an argument, or use --ios-client devicectl",
            )
    for argument in arguments:
        if not is_passable(argument):
            raise BenchmarkUnsupported(f"the argument {shorten(repr(argument))} cannot be passed to an app")
    return (*(f"--arg={argument}" for argument in arguments), *(f"--env={name}={env[name]}" for name in env))
