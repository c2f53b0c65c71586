"""Options of a benchmark that llama-bench takes (`backend_options`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from harness.core.errors import BenchmarkUnsupported
from harness.core.placeholders import suggest
from harness.core.scalars import Scalar


class BenchOption(NamedTuple):
    """Option of llama-bench.

    Attributes:
        flag: Its flag.
        pattern: Form of its values.
        form: The same in words.
        default: Value that is passed where the benchmark gives none; None leaves it to the program.
    """

    flag: str
    pattern: re.Pattern[str]
    form: str
    default: str | None = None


_COUNT: Final = re.compile(r"\d{1,7}")
_SIGNED: Final = re.compile(r"-?\d{1,7}")
_WORD: Final = re.compile(r"[a-z0-9_]{1,16}")
_SWITCH: Final = re.compile(r"on|off|auto|0|1")

OPTIONS: Final[Mapping[str, BenchOption]] = {
    "prompt": BenchOption("-p", _COUNT, "a number of tokens", "512"),
    "generate": BenchOption("-n", _COUNT, "a number of tokens", "128"),
    "depth": BenchOption("-d", _COUNT, "a number of tokens"),
    "batch_size": BenchOption("-b", _COUNT, "a number of tokens"),
    "ubatch_size": BenchOption("-ub", _COUNT, "a number of tokens"),
    "gpu_layers": BenchOption("-ngl", _SIGNED, "a number of layers"),
    "flash_attention": BenchOption("-fa", _SWITCH, "on, off, auto, 0 or 1"),
    "cache_type_k": BenchOption("-ctk", _WORD, "a type of ggml, such as f16 or q8_0"),
    "cache_type_v": BenchOption("-ctv", _WORD, "a type of ggml, such as f16 or q8_0"),
    "split_mode": BenchOption("-sm", _WORD, "none, layer or row"),
    "main_gpu": BenchOption("-mg", _COUNT, "the number of a device"),
    "poll": BenchOption("--poll", _COUNT, "0 to 100"),
}
"""Defaults that are passed are llama-bench's own: a later version may have others."""


def compose_options(options: Mapping[str, Scalar]) -> list[str]:
    """Return the words of a benchmark's options.

    Args:
        options: Its options by name.

    Raises:
        BenchmarkUnsupported: llama-bench has no such option, or it cannot have such a value, or nothing is to be done.
    """
    for name in options:
        if name not in OPTIONS:
            known = f"llama_cpp has {', '.join(OPTIONS)}"
            similar = suggest(name, OPTIONS)
            raise BenchmarkUnsupported(
                f"`backend_options`: llama_cpp has no option `{name}`", hint=f"{similar} {known}" if similar else known
            )
    values: dict[str, str] = {}
    for name, option in OPTIONS.items():
        value = _text(options[name]) if name in options else option.default
        if value is None:
            continue
        if not option.pattern.fullmatch(value):
            raise BenchmarkUnsupported(
                f"`backend_options.{name}` cannot be {value[:80]!r}", hint=f"`{name}` is {option.form}"
            )
        values[name] = value
    if int(values["prompt"]) == int(values["generate"]) == 0:
        raise BenchmarkUnsupported(
            "`backend_options`: neither a prompt nor a generation is asked for",
            hint="give `prompt` or `generate` a number of tokens",
        )
    return [word for name, value in values.items() for word in (OPTIONS[name].flag, value)]


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)
