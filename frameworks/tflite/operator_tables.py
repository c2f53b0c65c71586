"""Tables of operators as TensorFlow's `StatsCalculator` prints them, for `benchmark_model --enable_op_profiling`.

Sources: tensorflow/core/util/stats_calculator.cc and tensorflow/lite/profiling/profile_summary_formatter.cc. Releases
differ in the separators (tabs, or spaces), in the column `[start]`, which left with 2.13, and in the width of columns;
`--op_profiling_output_mode=csv` separates by commas.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from harness.core.metric import Observation

MAX_OPERATORS: Final = 20_000
"""Rows of tables that are read; the largest published models have some thousand nodes."""

_MAX_NAME: Final = 300
"""Longest name of an operator; that of a fused operator lists its parts."""

_RULE = re.compile(r"={5,}")
_OTHER_RULE: Final = "Summary of All Runs"
"""Title of what is no table of operators."""

_RULE_OF_INFERENCES: Final = 30
"""Width of each side of a title over averages of inferences. LiteRT's own profiler has wider ones, over counts of all
executions: their number is not told."""

_SECTIONS: Final = {
    "Profiling Info for Benchmark Initialization": "initialisation",
    "Operator-wise Profiling Info for Regular Benchmark Runs": "",
    "Delegate internal": "delegate",
}
"""Parts of the output that have tables of their own."""

_SUBGRAPH = re.compile(r"Subgraph \(index: (\d{1,9})")
_GAP = re.compile(r"\t|\s{2,}")
_PLACED_NAME = re.compile(r"\[(?P<name>.+)\]:\d{1,9}")
_RUN_ORDER, _BY_TYPE = "Run Order", "Summary by node type"
_COLUMNS_AFTER_TYPE: Final = 3
"""Columns before the two percentages that every row has: its type and two numbers."""


class OperatorTableRow(NamedTuple):
    """Row of a table.

    Attributes:
        name: Name of the operator, or its type in the summary by type.
        milliseconds: Time that it takes in one inference.
        memory_bytes: What the memory of the process grew by.
    """

    name: str
    milliseconds: float
    memory_bytes: float


class OperatorTables:
    """Reader of the lines of a log, one after the other.

    Attributes:
        bad: Number of rows that cannot be read.
        left_out: Number of rows beyond `MAX_OPERATORS`.
    """

    def __init__(self) -> None:
        self.bad = 0
        self.left_out = 0
        self._rows: dict[tuple[str, str], list[OperatorTableRow]] = {}
        self._count = 0
        self._section = ""
        self._subgraph = ""
        self._table: str | None = None
        self._counts_executions = False

    def read(self, line: str) -> bool:
        """Read a line; return whether it belonged to a table."""
        text = line.strip()
        if (rule := _RULE.match(text)) is not None and _OTHER_RULE not in text:
            self._table = text.strip("= ")
            self._counts_executions = rule.end() != _RULE_OF_INFERENCES
            return True
        if not text:
            self._table = None
            return False
        if self._table is not None and not self._is_header(text):
            self._read_row(text)
            return True
        self._enter_section(text)
        return self._table is not None

    def observations(self) -> Iterator[Observation]:
        """Yield the time of each operator in one inference, then what is about several of them.

        The rows of the table of the interpreter are operators. Those of a table inside of a delegate are parts of an
        operator of the other, and a sum by type counts operators again: these are metrics of other names.
        """
        yield from _observe(self._rows.get(("", _RUN_ORDER), ()), "latency")
        yield from _observe(self._rows.get(("delegate", _RUN_ORDER), ()), "internal_latency")
        yield from _observe(self._rows.get(("", _BY_TYPE), ()), "total_latency")
        for row in self._rows.get(("initialisation", _RUN_ORDER), ()):
            yield Observation(
                type="RUN", metric=f"initialisation {row.name}", unit="ms", summary={"mean": row.milliseconds}
            )

    def _is_header(self, text: str) -> bool:
        return "node type" in text[:60].lower()

    def _enter_section(self, text: str) -> None:
        for title, section in _SECTIONS.items():
            if title in text[:120]:
                self._section, self._subgraph = section, ""
        if (match := _SUBGRAPH.match(text)) is not None:
            self._subgraph = f"subgraph {match[1]}/"
        elif text.startswith("Primary graph"):
            self._subgraph = ""

    def _read_row(self, text: str) -> None:
        if self._table not in (_RUN_ORDER, _BY_TYPE):  # the others sort the same rows in another way
            return
        if self._table == _BY_TYPE and self._counts_executions:  # averages of calls, whose number is not told
            return
        row = _parse_row(text, is_summary=self._table == _BY_TYPE, counts_executions=self._counts_executions)
        if row is None:
            self.bad += 1
        elif self._count >= MAX_OPERATORS:
            self.left_out += 1
        else:
            self._count += 1
            self._rows.setdefault((self._section, self._table), []).append(
                row._replace(name=f"{self._subgraph}{row.name}")
            )


def _parse_row(text: str, *, is_summary: bool, counts_executions: bool) -> OperatorTableRow | None:
    """Parse the words of a row; both percentages stand beside each other, which tells the columns."""
    words = [word.strip() for word in (text.split(", ") if _is_csv(text) else _GAP.split(text)) if word]
    percents = next((index for index, pair in enumerate(pairwise(words)) if _are_percents(pair)), 0)
    rest = words[percents + 2 :]
    if percents < _COLUMNS_AFTER_TYPE or len(rest) < 2:
        return None
    average, memory, calls = _number(words[percents - 1]), _number(rest[0]), _number(rest[1])
    if average is None or memory is None or calls is None:
        return None
    if is_summary:  # its time is the sum of all calls
        name, calls = ", ".join(words[: percents - 2]), 1
    else:
        name = (", " if _is_csv(text) else " ").join(rest[2:]).replace("\t", ",")
    if counts_executions:  # then names are the same for all operators of a delegate
        name, calls = f"{words[0]} {name}", 1
    # A row that was called in some inferences only has a whole number of calls of zero.
    return OperatorTableRow(name[:_MAX_NAME], average * max(calls, 1), memory * 1000) if name else None


def _is_csv(text: str) -> bool:
    return "%, " in text


def _are_percents(words: Iterable[str]) -> bool:
    return all(word.endswith("%") for word in words)


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _observe(rows: Sequence[OperatorTableRow], metric: str) -> Iterator[Observation]:
    """Yield the rows as observations; a name without brackets and number is FAI-PEP's, where it is unique."""
    short = [_short_name(row.name) for row in rows]
    counts = Counter(short)
    for name, row in zip(short, rows, strict=True):
        unique = name if counts[name] == 1 else row.name
        yield Observation(type=unique, metric=metric, unit="ms", summary={"mean": row.milliseconds})
        if row.memory_bytes:
            yield Observation(type=unique, metric="memory", unit="bytes", summary={"mean": row.memory_bytes})


def _short_name(name: str) -> str:
    match = _PLACED_NAME.fullmatch(name)
    return match["name"] if match is not None else name
