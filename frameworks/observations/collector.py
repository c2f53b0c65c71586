"""Collection of a program's observations while they are read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from harness.core.generation import GENERATION
from harness.core.metric import Observation, convert
from harness.core.note import Note

_SUMMARY_LIST: Final = ("p0", "p10", "p50", "p90", "p100", "mean", "stdev", "MAD")
"""Statistics of a summary that is a list, in the order of FAI-PEP's `utils/observer.py`."""

_STATISTIC = re.compile(r"p\d{1,3}(\.\d+)?|mean|avg|median|stdev|std|MAD|cv|min|max|n|num_runs")
_CENTRAL = re.compile(r"p\d{1,3}(\.\d+)?|mean|avg|median")
"""Statistics that make an object of numbers a summary; the others only accompany them."""

_USUAL_NAMES: Final = {"avg": "mean", "median": "p50", "std": "stdev", "num_runs": "n"}

EXECUTORCH_STATS: Final = "executorch_stats"
"""Type of figures in the definitions of ExecuTorch's statistics."""

MOST_TOKEN_LATENCIES: Final = 100_000
"""Samples of the time of each token that a launch keeps, evenly."""

LARGEST: Final = 1e150
"""Magnitude beyond which a number is no figure: squares of smaller ones can be summed over as many samples as an output
holds, and converted to any unit, without leaving the range of a double."""

_SHOWN_TOKENS: Final = 64

Key = tuple[str, str, str]
"""Type, metric and unit."""


class BadObservation(ValueError):
    """Object that looks like an observation and cannot be read; the message says why.

    Attributes:
        metrics: Type and metric of everything that is lost with it, as far as they are known.
    """

    def __init__(self, message: str, metrics: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.metrics = tuple(metrics)


@dataclass(slots=True)
class ObservationCollector:
    """Observations in order of first mention.

    Attributes:
        samples: The samples of each key.
        summaries: Statistics that the program computed itself.
        infos: Texts, without duplicates.
        tables: Rows of each table, as JSON.
        clashes: Units that do not convert to the first unit of their metric.
        statistics: Metric, unit and value of each of ExecuTorch's statistics.
        tokens: New tokens of the first generation that tells them, and of the first that has others.
    """

    samples: dict[Key, list[float]] = field(default_factory=dict)
    summaries: list[tuple[Key, dict[str, float]]] = field(default_factory=list)
    infos: dict[tuple[Key, str], None] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    clashes: dict[str, None] = field(default_factory=dict)
    statistics: list[tuple[str, str, float]] = field(default_factory=list)
    tokens: list[tuple[int, ...]] = field(default_factory=list)
    _units: dict[tuple[str, str], str] = field(default_factory=dict)
    _appenders: dict[tuple[object, object, object], Callable[[float], None]] = field(default_factory=dict)

    def add_entry(self, type_: object, metric: object, entry: object) -> None:
        """Add one observation: an object with `value`, `values`, `summary`, statistics or `info_string`, and a `unit`.

        Raises:
            BadObservation: It has none of them, or one that cannot be read.
        """
        if not isinstance(entry, dict):
            raise BadObservation(f"{quote(entry)} is not an object with `value` and `unit`")
        unit = entry.get("unit", "")
        if "value" in entry:
            self.add_sample(type_, metric, unit, entry["value"])
        elif "values" in entry and entry.get("summary") is None:
            self.add_samples(type_, metric, unit, entry["values"])
        elif "summary" in entry:  # as in FAI-PEP: beside a percentage of hits, the values are the hits
            summary = _summary(entry["summary"])
            if "num_runs" in entry:
                summary["n"] = parse_number(entry["num_runs"])
            self.summaries.append((_key(type_, metric, unit), summary))
        elif "info_string" in entry:
            self.add_info(type_, metric, unit, entry["info_string"])
        elif statistics := statistics_of(entry):
            self.summaries.append((_key(type_, metric, unit), _summary(statistics)))
        else:
            raise BadObservation("it has no `value`, `summary` or `info_string`")

    def has(self, type_: str, metric: str) -> bool:
        """Return whether anything was read about a metric."""
        keys = (*self.samples, *(key for key, _ in self.summaries), *(key for key, _ in self.infos))
        return (type_, metric) in {key[:2] for key in keys}

    def add_sample(self, type_: object, metric: object, unit: object, value: object) -> None:
        """Add one sample. Every line of a long run passes here, so each key is prepared only once.

        Raises:
            BadObservation: The value is not a finite number, or type or metric is no name.
        """
        sample = parse_number(value)
        try:
            append = self._appenders[type_, metric, unit]
        except (KeyError, TypeError):
            append = self._prepare(type_, metric, unit)
        append(sample)

    def add_samples(self, type_: object, metric: object, unit: object, values: object) -> None:
        """Add a list of samples, or none of them when one is not a number.

        Raises:
            BadObservation: It is not a list, or one of them is bad.
        """
        if not isinstance(values, list) or not values:
            raise BadObservation(f"{quote(values)} is not a list of numbers")
        for sample in [parse_number(value) for value in values]:
            self.add_sample(type_, metric, unit, sample)

    def add_tokens(self, tokens: tuple[int, ...]) -> None:
        """Add the new tokens of a generation; as a text those of the first."""
        if not tokens or tokens in self.tokens:
            return
        if not self.tokens:
            self.add_info(GENERATION, "tokens", "", describe_tokens(tokens))
        self.tokens = [*self.tokens[:1], tokens] if len(self.tokens) < 2 else self.tokens

    def add_info(self, type_: object, metric: object, unit: object, info: object) -> None:
        """Add a text.

        Raises:
            BadObservation: Type or metric is no name.
        """
        self.infos[_key(type_, metric, unit), _printable(info if isinstance(info, str) else _json(info))] = None

    def add_table(self, name: object, rows: object) -> None:
        """Add the rows of a table: a list of rows, or one row.

        Raises:
            BadObservation: A number in it is not finite.
        """
        key = _printable(name) if isinstance(name, str) and name else "custom_output"
        lines = [_json(row) for row in (rows if isinstance(rows, list) else [rows])]
        self.tables.setdefault(key, []).extend(lines)

    def observations(self) -> tuple[Observation, ...]:
        """Return the observations: samples, then summaries, texts and tables."""
        self._add_statistics()
        return (
            *(
                _observation(key, samples=_keep_evenly(key, samples))
                for key, samples in self.samples.items()
                if samples
            ),
            *(_observation(key, summary=summary) for key, summary in self.summaries),
            *(_observation(key, info=info) for key, info in self.infos),
            *(_observation((name, "table", ""), info=f"[{', '.join(rows)}]") for name, rows in self.tables.items()),
        )

    def _add_statistics(self) -> None:
        """Add ExecuTorch's statistics.

        Beside time stamps they are the same generations again, in whole milliseconds and with warm-ups: none of ours.
        """
        type_ = EXECUTORCH_STATS if self.has(GENERATION, "generation_time") else GENERATION
        for metric, unit, value in self.statistics:
            self.add_sample(type_, metric, unit, value)
        self.statistics.clear()

    def notes(self) -> tuple[Note, ...]:
        """Return the notes that qualify the observations."""
        return (*self._note_clashes(), *self._note_tokens(), *self._note_thinning())

    def _note_clashes(self) -> Iterator[Note]:
        if self.clashes:
            yield Note(
                code="units",
                message=f"a metric was printed in units that do not convert: {', '.join(self.clashes)}",
                hint="print each metric in one unit; until then each unit is a metric of its own",
            )

    def _note_tokens(self) -> Iterator[Note]:
        if len(self.tokens) > 1:
            first, other = self.tokens
            yield Note(
                code="tokens_differ",
                message=f"generations of one launch gave different tokens: one {describe_difference(first, other)}",
                hint="generate at temperature 0 and from the same prompt: other tokens may be other work",
                trust=False,
            )

    def _note_thinning(self) -> Iterator[Note]:
        for (type_, metric, unit), samples in self.samples.items():
            kept = _keep_evenly((type_, metric, unit), samples)
            if len(kept) < len(samples):
                yield Note(
                    code="thinned",
                    message=f"of {len(samples):,} samples of {type_} {metric} {len(kept):,} are kept, evenly",
                )

    def _prepare(self, type_: object, metric: object, unit: object) -> Callable[[float], None]:
        """Return the function that adds samples of a key, converted to the first unit of their metric."""
        key = _key(type_, metric, unit)
        name, printed_unit = key[:2], key[2]
        first_unit = self._units.setdefault(name, printed_unit)
        if convert(1.0, printed_unit, first_unit) is None:
            first, second = (f"in `{text}`" if text else "without one" for text in (first_unit, printed_unit))
            self.clashes[f"{' '.join(name)} {first} and {second}"] = None
            first_unit = printed_unit
        append = self.samples.setdefault((*name, first_unit), []).append
        if first_unit != printed_unit:
            append = _converting(append, printed_unit, first_unit)
        self._appenders[type_, metric, unit] = append
        return append


def describe_tokens(tokens: Sequence[int]) -> str:
    """Return tokens as a text that differs for other tokens: the first of them, their number and a digest."""
    shown = " ".join(map(str, tokens[:_SHOWN_TOKENS]))
    if len(tokens) <= _SHOWN_TOKENS:
        return shown
    return f"{shown} {describe_rest(len(tokens), repr(tokens))}"


def describe_text(text: str, limit: int) -> str:
    """Return a text, or its beginning with its length and a digest, so that it differs for other texts."""
    return text if len(text) <= limit else f"{text[:limit]} {describe_rest(len(text), text)}"


def describe_rest(length: int, content: str) -> str:
    """Return what stands for the rest of something that is not shown whole: its length, and a digest of its content."""
    return f"... ({length:,}, sha256 {sha256(content.encode(errors='replace')).hexdigest()[:16]})"


def describe_difference(tokens: Sequence[int], others: Sequence[int]) -> str:
    """Return in words how a sequence of tokens differs from another one: `has 9 instead of 5 as token 17`.

    Args:
        tokens: The sequence that is expected.
        others: A different one.
    """
    for number, (token, other) in enumerate(zip(tokens, others, strict=False), 1):
        if token != other:
            return f"has {other} instead of {token} as token {number:,}"
    return f"has {len(others):,} tokens instead of {len(tokens):,}"


def statistics_of(entry: Mapping[str, object]) -> dict[str, object]:
    """Return the statistics among the members of an object, such as `p50` and `mean`; none where it is no summary."""
    statistics = {name: value for name, value in entry.items() if is_statistic(name, value)}
    if not any(_CENTRAL.fullmatch(name) for name in statistics):
        return {}
    return {_USUAL_NAMES.get(name, name): value for name, value in statistics.items()}


def is_statistic(name: str, value: object) -> bool:
    """Return whether a member of an object has the name of a statistic and can be one."""
    return _STATISTIC.fullmatch(name) is not None and not isinstance(value, (dict, list))


def parse_number(value: object) -> float:
    """Parse a finite number, printed as number or as text.

    Raises:
        BadObservation: It is neither, not finite, or larger than any figure (`LARGEST`).
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or (isinstance(value, str) and "_" in value):
        raise BadObservation(f"value {quote(value)} is not a number")
    try:
        result = float(value)
    except ValueError as error:
        raise BadObservation(f"value {quote(value)} is not a number") from error
    except OverflowError as error:
        raise BadObservation("a value is too large for a double") from error
    if not math.isfinite(result):
        raise BadObservation(f"value {quote(value)} is not finite")
    if abs(result) > LARGEST:
        raise BadObservation(f"value {quote(value)} is too large for a figure")
    return result


def quote(value: object) -> str:
    """Format a JSON value for a message, cut to a readable length."""
    text = _json(value, allow_nan=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json(value: object, *, allow_nan: bool = False) -> str:
    try:
        return json.dumps(value, allow_nan=allow_nan)
    except ValueError as error:
        raise BadObservation("a number in it is not finite") from error
    except RecursionError as error:
        raise BadObservation("it is nested too deeply") from error


def _keep_evenly(key: Key, samples: Sequence[float]) -> tuple[float, ...]:
    """Return the samples, or every second, third, ... one where a launch has more times of tokens than are kept."""
    if key[:2] != (GENERATION, "token_latency"):
        return tuple(samples)
    return tuple(samples[:: -(-len(samples) // MOST_TOKEN_LATENCIES)])


def _converting(append: Callable[[float], None], unit: str, to: str) -> Callable[[float], None]:
    def append_converted(value: float) -> None:
        append(parse_number(convert(value, unit, to)))

    return append_converted


def _summary(summary: object) -> dict[str, float]:
    if isinstance(summary, dict):
        statistics = {_printable(name): parse_number(value) for name, value in summary.items() if value is not None}
        if statistics:
            return statistics
    elif isinstance(summary, list) and len(summary) == len(_SUMMARY_LIST):
        return {name: parse_number(value) for name, value in zip(_SUMMARY_LIST, summary, strict=True)}
    raise BadObservation(f"summary {quote(summary)} is neither an object of numbers nor {', '.join(_SUMMARY_LIST)}")


def _key(type_: object, metric: object, unit: object) -> Key:
    names = []
    for role, name in (("type", type_), ("metric", metric)):
        if not isinstance(name, str) or not name.strip():
            raise BadObservation(f"its `{role}` is {quote(name)}, not a name")
        names.append(_printable(name.strip()))
    if not isinstance(unit, (str, type(None))):
        raise BadObservation(f"its `unit` is {quote(unit)}, not a text")
    return names[0], names[1], _printable((unit or "").strip())


def _printable(text: str) -> str:
    """Replace lone surrogates, which JSON can express as an escape and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _observation(
    key: Key, *, samples: Sequence[float] = (), summary: dict[str, float] | None = None, info: str | None = None
) -> Observation:
    return Observation(type=key[0], metric=key[1], unit=key[2], samples=tuple(samples), summary=summary, info=info)
