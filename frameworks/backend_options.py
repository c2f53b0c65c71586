"""Options of backends: which a framework knows, and how its runner is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkUnsupported
from harness.core.placeholders import suggest
from harness.core.scalars import Scalar, format_scalar


@dataclass(frozen=True, slots=True)
class BackendOption:
    """Option of a framework or of one of its backends.

    Attributes:
        name: Its name in `backend_options`.
        meaning: What it does, for people; a sentence without its full stop.
        values: The values that it may have, as text; empty where `is_count` is set, or any text is one.
        is_count: Whether it is a whole number from 1 on.
    """

    name: str
    meaning: str
    values: tuple[str, ...] = ()
    is_count: bool = False

    def find_problem(self, value: Scalar) -> str | None:
        """Return what is wrong with a value, in words; None where nothing is."""
        text = format_scalar(value)
        if self.is_count:
            is_count = text.isascii() and text.isdecimal() and int(text) >= 1
            return None if is_count else f"{text!r} is not a whole number from 1 on"
        if self.values and text not in self.values:
            return f"{text!r} is none of {', '.join(self.values)}"
        return None


def check_options(benchmark: Benchmark, framework: str, known: Sequence[BackendOption]) -> None:
    """Check the options that a benchmark names.

    Raises:
        BenchmarkUnsupported: One is unknown, or has a value that it cannot have; the hint lists what there is.
    """
    options = {option.name: option for option in known}
    for name, value in benchmark.backend_options.items():
        if name not in options:
            listed = f"{framework} has {', '.join(options)}" if options else f"{framework} has none"
            similar = suggest(name, options)
            raise BenchmarkUnsupported(
                f"`backend_options`: {framework} has no option `{name}`",
                hint=f"{similar} {listed}" if similar else listed,
            )
        problem = options[name].find_problem(value)
        if problem is not None:
            raise BenchmarkUnsupported(f"`backend_options.{name}`: {problem}", hint=options[name].meaning)


def option_words(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the arguments that tell our runner of the options."""
    words = ((f"{name}={format_scalar(value)}") for name, value in benchmark.backend_options.items())
    return tuple(word for option in words for word in ("--option", option))
