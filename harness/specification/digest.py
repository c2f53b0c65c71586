"""What makes two benchmarks the same benchmark."""

from __future__ import annotations

import hashlib
import json

from pydantic import JsonValue

from harness.core.benchmark import Benchmark
from harness.core.placeholders import find_placeholders

_DESCRIPTIVE = frozenset(("ID", "category", "kind", "description", "group", "log_output", "timeout", "cooldown"))
"""Values that say something about a benchmark without changing what is measured."""

_COUNTED_AS_FIELD = frozenset(("operators", "energy"))
"""Values that can be given in another way as well: however they are given, the benchmark is the same."""


def digest_of(benchmark: Benchmark, given: frozenset[str] = frozenset()) -> str:
    """SHA-256 over what defines a benchmark.

    Left out is what may differ between two runs of the same one: its number, its place in a file, descriptions,
    which way is better, free values, time limits of the harness.

    Args:
        benchmark: The benchmark, with locations as they are written (absolute ones differ between hosts).
        given: Variables that come from the command line; they count only when a template uses them.
    """
    content: JsonValue = benchmark.model_dump(
        mode="json",
        exclude={
            **dict.fromkeys(
                ("id", "origin", "digest", "meta", "log_output", "statistics", "direction", "variables"), True
            ),
            **dict.fromkeys(("timeout_s", "cooldown_s"), True),
            # series from before there were operators, energy and apps go on
            **({} if benchmark.operators else {"operators": True}),
            **({} if benchmark.energy else {"energy": True}),
            **({} if benchmark.app else {"app": True}),
            "platform": True,
            "tags": True,
            "model": {"category", "kind", "description", "group"},
        },
    )
    canonical = json.dumps(_without_origins(content), sort_keys=True, separators=(",", ":"))
    used = _used(canonical, benchmark.variables)
    variables = {
        name: value
        for name, value in benchmark.variables.items()
        if name not in _DESCRIPTIVE | _COUNTED_AS_FIELD and (name in used or name not in given)
    }
    canonical += json.dumps(variables, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _without_origins(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_origins(item) for key, item in value.items() if key != "origin"}
    if isinstance(value, list):
        return [_without_origins(item) for item in value]
    return value


def _used(text: str, variables: dict[str, str]) -> set[str]:
    """Names that a text uses, directly or through other values."""
    used: set[str] = set()
    waiting = list(find_placeholders(text))
    while waiting:
        name = waiting.pop()
        if name in variables and name not in used:
            used.add(name)
            waiting.extend(find_placeholders(variables[name]))
    return used
