"""The layouts in which llama-bench prints tests (`-o json|jsonl|csv|sql|md`), in text that may hold other lines, too.

    [{"build_commit": "5e7c", ...}, ...]   and one such object in each line: with every repetition
    build_commit,...                       a header, then lines of quoted values: averages
    INSERT INTO llama_bench (build_commit, ...) VALUES ('5e7c', ...);
    | model | size | params | backend | threads | test | t/s |   and `build: 5e7c (8000)` below the table

Values in SQL are not escaped by llama-bench, and those in CSV only their quotes. The time is linear in the text.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from harness.core.foreign import ForeignProblem
from harness.formats.json_entries import MOST_ENTRIES, Placed, parse_entry
from harness.formats.llama_bench import LlamaBenchTest

_MARKS: Final = frozenset({"n_prompt", "n_gen"})
_FIGURES: Final = frozenset({"avg_ts", "samples_ns", "samples_ts"})
_FAILURES_COST: Final = 1_000_000_000
"""Characters that may be searched for what is no JSON: Python counts the lines before each failure."""
_NESTED_COST: Final = 10_000_000
"""The same for an object that is nested too deeply, and is decoded a thousand levels down."""

_OBJECT: Final = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_LIKE_TEST: Final = re.compile(r'"(?:build_commit|n_prompt)"')
_INSERT: Final = re.compile(r"INSERT INTO \w+ \(([\w, ]+)\) VALUES \('(.*)'\);")
_BUILD: Final = re.compile(r"build: (\S{1,64}) \((\d{1,9})\)")
_TOKENS: Final = re.compile(r"(?:pp ?(\d{1,9}))?(?:\+?tg ?(\d{1,9}))?(?: @ d(\d{1,9}))?")
_RATE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ± (\d{1,15}(?:\.\d{1,9})?)")
_WHOLE: Final = re.compile(r"-?\d{1,18}")
_DECIMAL: Final = re.compile(r"-?\d{1,18}\.\d{1,18}(?:e[+-]?\d{1,3})?", re.ASCII)
_COLUMNS: Final = {
    "model": "model_type",
    "backend": "backends",
    "threads": "n_threads",
    "ngl": "n_gpu_layers",
    "fa": "flash_attn",
}
"""Fields that the table calls otherwise."""

_TEXTS: Final = frozenset(
    {
        "model_filename",
        "build_commit",
        "backends",
        "cpu_info",
        "gpu_info",
        "model_type",
        "type_k",
        "type_v",
        "test_time",
    }
)


class PlacedTest(NamedTuple):
    """Test with its place.

    Attributes:
        place: Its place in the text, for people: `line 3`.
        test: The test.
    """

    place: str
    test: LlamaBenchTest


def read_tests(text: str) -> tuple[Sequence[PlacedTest], Sequence[ForeignProblem]]:
    """Return every test of a text, of one layout after the other, and what looks like one and cannot be read."""
    tests: list[PlacedTest] = []
    problems: list[ForeignProblem] = []
    for item in (*_scan_objects(text), *_scan_lines(text)):
        test = item if isinstance(item, ForeignProblem) else parse_entry(LlamaBenchTest, item)
        if isinstance(test, ForeignProblem):
            problems.append(test)
        elif isinstance(item, Placed):
            tests.append(PlacedTest(item.place, test))
        if len(tests) + len(problems) >= MOST_ENTRIES:
            problems.append(ForeignProblem(place="end", reason=f"more than {MOST_ENTRIES} tests; the rest is not read"))
            break
    return tests, problems


def _scan_objects(text: str) -> Iterator[Placed | ForeignProblem]:
    """Yield each JSON object that begins a line and is a test.

    A broken one ends at the next line that begins an object, which may be whole: other output can precede it.
    """
    decode = json.JSONDecoder().raw_decode
    at, line, counted, cost = 0, 1, 0, 0
    while cost < _FAILURES_COST and (match := _OBJECT.search(text, at)) is not None:
        start = match.end()
        line, counted = line + text.count("\n", counted, start), start
        try:
            value, at = decode(text, start)
        except json.JSONDecodeError as error:
            cost += error.pos
            following = _OBJECT.search(text, start + 1, error.pos)
            end = error.pos if following is None else following.start()
            if _LIKE_TEST.search(text, start, end):
                yield ForeignProblem(place=f"line {line}", reason=f"not JSON ({error.msg.lower()})")
            at = max(text.rfind("\n", start, end) + 1, start + 1)
        except (ValueError, RecursionError):
            cost += _NESTED_COST
            at = start + 1
        else:
            if isinstance(value, dict) and value.keys() >= _MARKS and not value.keys().isdisjoint(_FIGURES):
                yield Placed(line, value)
    if cost >= _FAILURES_COST and _LIKE_TEST.search(text, at):
        yield ForeignProblem(place=f"after line {line}", reason="too much before it is no JSON; the rest is not read")


def _scan_lines(text: str) -> Iterator[Placed | ForeignProblem]:
    """Yield the tests of every layout of one line for each."""
    csv_names: Sequence[str] = ()
    table: Sequence[str] = ()
    rows: list[tuple[int, dict[str, object]]] = []
    build: dict[str, object] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith('"') and csv_names:
            yield _read_csv(stripped, number, csv_names)
        elif stripped.startswith("INSERT INTO"):
            yield _read_insert(stripped, number)
        elif stripped.startswith("|") and stripped.endswith("|"):
            cells = [cell.strip() for cell in stripped.strip("|").split("|")]
            if {"test", "t/s"} <= set(cells):
                table = cells
            elif table and len(cells) == len(table) and not set(stripped) <= set("|-: "):
                rows.append((number, _name_cells(dict(zip(table, cells, strict=True)))))
        elif stripped.startswith("build_commit,"):
            csv_names = stripped.split(",")
        elif (match := _BUILD.fullmatch(stripped)) is not None:
            build = {"build_commit": match[1], "build_number": int(match[2])}
    for number, row in rows:
        yield Placed(number, {**row, **build})


def _read_csv(line: str, number: int, names: Sequence[str]) -> Placed | ForeignProblem:
    try:
        cells = next(csv.reader([line], strict=True))
    except (csv.Error, StopIteration) as error:
        return ForeignProblem(place=f"line {number}", reason=f"not CSV ({error})")
    return _place(number, names, cells)


def _read_insert(line: str, number: int) -> Placed | ForeignProblem:
    match = _INSERT.fullmatch(line)
    if match is None:
        return ForeignProblem(place=f"line {number}", reason="an INSERT of another form than llama-bench's")
    return _place(number, match[1].split(", "), match[2].split("', '"))


def _place(number: int, names: Sequence[str], cells: Sequence[str]) -> Placed | ForeignProblem:
    if len(names) != len(cells):
        reason = f"{len(cells)} values for {len(names)} columns: a name in it has quotes, or the line is cut off"
        return ForeignProblem(place=f"line {number}", reason=reason)
    return Placed(number, {name: _parse(name, cell) for name, cell in zip(names, cells, strict=True)})


def _name_cells(cells: Mapping[str, str]) -> dict[str, object]:
    """Return the row of a table under the names of the other layouts."""
    values: dict[str, object] = {
        _COLUMNS.get(name, name): _parse(_COLUMNS.get(name, name), cell)
        for name, cell in cells.items()
        if name not in {"test", "t/s", "size", "params"}
    }
    tokens, rate = _TOKENS.fullmatch(cells["test"]), _RATE.fullmatch(cells["t/s"])
    if tokens is not None and any(tokens.groups()):
        values |= zip(("n_prompt", "n_gen", "n_depth"), (int(count or 0) for count in tokens.groups()), strict=True)
    if rate is not None:
        values |= {"avg_ts": float(rate[1]), "stddev_ts": float(rate[2])}
    return values


def _parse(name: str, cell: str) -> object:
    if name in _TEXTS:
        return cell
    if _WHOLE.fullmatch(cell):
        return float(cell) if name.endswith("_ts") else int(cell)
    return float(cell) if _DECIMAL.fullmatch(cell) else cell
