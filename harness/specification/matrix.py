"""Variants of a test: the combinations of its axes, and its shapes.

Combinations come in the order in which the axes are written; the last axis varies fastest, and entries of `include`
slowest.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from harness.core.placeholders import suggest
from harness.core.scalars import Scalar
from harness.specification.document import Findings, join
from harness.specification.file_format import Matrix, Test
from harness.specification.sections import keys_of

MOST_COMBINATIONS = 10_000
"""More are a mistake: at a second each, they take three hours."""

Combination = Mapping[str, Scalar]

_SCALAR_FIELDS = (
    *("iter", "warmup", "min_iter", "time_limit_s", "repeat", "max_repeat", "repeat_precision"),
    *("threads", "method", "timeout", "log_output"),
)
_KEEP_ONE = "keep one of them"
_SHOULD = "Input should be "
"""Begin of pydantic's sentences, of which there is one for each kind of value that is allowed."""
_FIELDS: Mapping[str, str] = {
    **{name: name for name in (*_SCALAR_FIELDS, "metric", "command", "arguments")},
    "cpu-list": "cpu_list",
    "MKL_NUM_THREADS": "mkl_num_threads",
    "OMP_NUM_THREADS": "omp_num_threads",
}
"""Test fields that an axis can set, and their attributes."""


def expand_matrix(
    matrix: Matrix | None,
    pointer: str,
    reserved: frozenset[str],
    findings: Findings,
    used: frozenset[str] = frozenset(),
) -> Sequence[Combination]:
    """Return every combination of a matrix that is not excluded.

    Args:
        matrix: The test's matrix; none makes one combination without axes.
        pointer: JSON pointer of the test.
        reserved: Names that cannot be axes, because they get their value when the program is started.
        findings: Collects problems.
        used: Placeholders of the test's commands.

    Returns:
        The combinations. When there is a problem, one that lets the rest of the test be checked, or none.
    """
    if matrix is None:
        return [{}]
    axes: Mapping[str, tuple[Scalar, ...]] = matrix.__pydantic_extra__
    before = len(findings.problems)
    _check_inclusions(matrix, join(pointer, "matrix"), findings)
    for here, values in _walk_axes(matrix, join(pointer, "matrix")).items():
        name = here.name
        _check_axis(name, here.pointer, reserved, findings)
        _check_spelling(name, here.pointer, used, findings)
        if findings.document.places.get(join(pointer, name)):
            findings.add(here.pointer, f"`{name}` is both an axis and a key of the test", _KEEP_ONE)
        _check_values(name, values, here.pointer, findings)
    if len(findings.problems) > before:
        return []
    for number, entry in enumerate(matrix.exclude):
        _check_exclusion(entry, _known_values(matrix), join(pointer, "matrix", "exclude", number), findings)
    included: Sequence[Combination] = matrix.include or ({},)
    size = math.prod(len(values) for values in axes.values()) * len(included)
    if size > MOST_COMBINATIONS:
        message = f"the matrix has {size} combinations; at most {MOST_COMBINATIONS} are allowed"
        findings.add(join(pointer, "matrix"), message, "split the test, or name fewer values")
    if len(findings.problems) > before:
        return [{**included[0], **{name: values[0] for name, values in axes.items()}}]
    products = itertools.product(included, itertools.product(*axes.values()))
    candidates = ({**entry, **dict(zip(axes, values, strict=True))} for entry, values in products)
    kept = [entry for entry in candidates if not any(_covers(partial, entry) for partial in matrix.exclude)]
    if not kept:
        findings.add(join(pointer, "matrix"), "the matrix excludes every combination", "remove an entry of `exclude`")
    return kept


def apply_axes(test: Test, combination: Combination) -> Test:
    """Set the fields of the test that its axes name."""
    return test.model_copy(update={_FIELDS[axis]: value for axis, value in combination.items() if axis in _FIELDS})


def count_shapes(test: Test, pointer: str, findings: Findings) -> int:
    """Return how many shapes the inputs list; if they disagree 1, so that the rest of the test is checked."""
    for name, entry in test.inputs.items():
        if (entry.shape is None) == (entry.shapes is None):
            findings.add(join(pointer, "inputs", name), f"input `{name}` needs either `shape` or `shapes`")
    counts = {name: len(entry.shapes) for name, entry in test.inputs.items() if entry.shapes is not None}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"`{name}` {count}" for name, count in counts.items())
        message = f"the inputs list different numbers of shapes: {listed}"
        findings.add(join(pointer, "inputs"), message, "benchmark i takes the i-th shape of every input")
        return 1
    return next(iter(counts.values()), 1)


class _Axis(NamedTuple):
    """Axis where a matrix names it."""

    name: str
    pointer: str


def _walk_axes(matrix: Matrix, pointer: str) -> Mapping[_Axis, tuple[Scalar, ...]]:
    """Return the values of every axis at each place that names it; those of `include` by entry."""
    listed = {_Axis(name, join(pointer, name)): values for name, values in matrix.__pydantic_extra__.items()}
    return listed | {
        _Axis(name, join(pointer, "include", number, name)): (value,)
        for number, entry in enumerate(matrix.include)
        for name, value in entry.items()
    }


def _known_values(matrix: Matrix) -> Mapping[str, Sequence[Scalar]]:
    """Return the values of every axis by name."""
    known: dict[str, list[Scalar]] = {}
    for axis, values in _walk_axes(matrix, "").items():
        known.setdefault(axis.name, []).extend(values)
    return known


def _check_inclusions(matrix: Matrix, pointer: str, findings: Findings) -> None:
    """Check that all entries of `include` name the same axes, which are no other axes of the matrix."""
    for number, entry in enumerate(matrix.include):
        here = join(pointer, "include", number)
        for name in entry:
            if name in matrix.__pydantic_extra__:
                findings.add(join(here, name), f"axis `{name}` is also a list of the matrix", _KEEP_ONE)
            elif name in {"include", "exclude"}:
                findings.add(join(here, name), f"`{name}` cannot be an axis", "rename it")
        if entry.keys() != matrix.include[0].keys():
            message = (
                f"entry {number} of `include` names {_list_names(entry)}, and entry 0 {_list_names(matrix.include[0])}"
            )
            findings.add(here, message, "name the same axes in every entry")
        elif any(_is_equal(entry, earlier) for earlier in matrix.include[:number]):
            findings.add(here, "`include` lists this entry twice", _KEEP_ONE)


def _list_names(entry: Combination) -> str:
    return ", ".join(f"`{name}`" for name in entry)


def _is_equal(left: Combination, right: Combination) -> bool:
    return left.keys() == right.keys() and _covers(left, right)


def _covers(partial: Combination, entry: Combination) -> bool:
    return all(_is_same(entry[axis], value) for axis, value in partial.items())


def _is_same(left: Scalar, right: Scalar) -> bool:
    """Compare as JSON does: `true` is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _check_axis(name: str, pointer: str, reserved: frozenset[str], findings: Findings) -> None:
    if name in reserved:
        message = f"axis `{name}` has the name of a placeholder that the harness fills in"
        findings.add(pointer, message, "rename the axis")
    elif name in keys_of(Test) and name not in _FIELDS:
        message = f"axis `{name}` has the name of a test field that an axis cannot set"
        findings.add(pointer, message, "rename the axis")
    elif name not in _FIELDS and not re.fullmatch(r"\w+", name):
        findings.add(
            pointer, f"axis `{name}` cannot be the name of a placeholder", "use letters, digits and underscores"
        )


def _check_spelling(name: str, pointer: str, used: frozenset[str], findings: Findings) -> None:
    """Refuse an axis whose name is nearly a field of the test and that no command uses: it would change nothing."""
    similar = difflib.get_close_matches(name, _FIELDS, n=1, cutoff=0.8)
    if name not in _FIELDS and similar and name not in used:
        message = f"axis `{name}` sets nothing: no field of a test has that name, and no command uses it"
        findings.add(pointer, message, f"did you mean `{similar[0]}`?")


def _check_values(name: str, values: Sequence[Scalar], pointer: str, findings: Findings) -> None:
    for index, value in enumerate(values):
        if any(_is_same(value, earlier) for earlier in values[:index]):
            findings.add(join(pointer, index), f"axis `{name}` lists {value!r} twice", _KEEP_ONE)
        if name not in _FIELDS:
            continue
        try:
            Test.model_validate({"metric": "delay", name: value})
        except ValidationError as error:
            first, *others = (detail["msg"] for detail in error.errors())
            reason = " or ".join((f"{first[:1].lower()}{first[1:]}", *(each.removeprefix(_SHOULD) for each in others)))
            message = f"axis `{name}` sets the test's `{name}`: {reason}"
            findings.add(join(pointer, index), message)


def _check_exclusion(
    entry: Combination, axes: Mapping[str, Sequence[Scalar]], pointer: str, findings: Findings
) -> None:
    for name, value in entry.items():
        if name not in axes:
            hint = suggest(name, axes.keys()) or "axes: " + ", ".join(axes)
            findings.add(join(pointer, name), f"`exclude` names `{name}`, which is not an axis", hint)
        elif not any(_is_same(value, listed) for listed in axes[name]):
            message = f"`exclude` names {value!r}, which is not a value of axis `{name}`"
            findings.add(join(pointer, name), message, f"values: {', '.join(map(str, axes[name]))}")
