"""The combinations of a test's axes, in the order in which they are written; the last axis varies fastest."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from harness.core.placeholders import suggest
from harness.core.values import Scalar
from harness.specification.document import join
from harness.specification.file_format import Matrix, Test
from harness.specification.problems import Findings
from harness.specification.sections import keys_of

MOST_COMBINATIONS = 10_000
"""More is a slip of the pen: at a second each, three hours."""

Combination = Mapping[str, Scalar]

_SINGLE = ("iter", "warmup", "min_iter", "time_limit_s", "repeat", "threads", "method", "timeout", "log_output")
_ONE = "keep one of them"
_FIELDS: Mapping[str, str] = {
    **{name: name for name in (*_SINGLE, "metric", "command", "arguments")},
    "cpu-list": "cpu_list",
    "MKL_NUM_THREADS": "mkl_num_threads",
    "OMP_NUM_THREADS": "omp_num_threads",
}
"""Test fields that an axis can set, and their attributes."""


def combinations(
    matrix: Matrix | None,
    pointer: str,
    reserved: frozenset[str],
    findings: Findings,
    used: frozenset[str] = frozenset(),
) -> Sequence[Combination]:
    """Every combination of a matrix that is not excluded.

    Args:
        matrix: The test's matrix; none makes one combination without axes.
        pointer: Where the test stands.
        reserved: Names that cannot be axes, because they get their value when the program is started.
        findings: Collects what is wrong.
        used: Placeholders of the test's commands.

    Returns:
        The combinations. When something is wrong: one that lets the rest of the test be checked, or none.
    """
    if matrix is None:
        return [{}]
    axes: Mapping[str, tuple[Scalar, ...]] = matrix.__pydantic_extra__
    before = len(findings.problems)
    for name, values in axes.items():
        _check_axis(name, join(pointer, "matrix", name), reserved, findings)
        _check_slip(name, join(pointer, "matrix", name), used, findings)
        if findings.document.places.get(join(pointer, name)):
            findings.add(join(pointer, "matrix", name), f"`{name}` is an axis and also a key of the test", _ONE)
        _check_values(name, values, join(pointer, "matrix", name), findings)
    if len(findings.problems) > before:
        return []
    for number, entry in enumerate(matrix.exclude):
        _check_exclusion(entry, axes, join(pointer, "matrix", "exclude", number), findings)
    size = math.prod(len(values) for values in axes.values())
    if size > MOST_COMBINATIONS:
        message = f"the matrix has {size} combinations; at most {MOST_COMBINATIONS} are allowed"
        findings.add(join(pointer, "matrix"), message, "split the test, or name fewer values")
    if len(findings.problems) > before:
        return [{name: values[0] for name, values in axes.items()}]
    every = (dict(zip(axes, entry, strict=True)) for entry in itertools.product(*axes.values()))
    kept = [entry for entry in every if not any(_covers(partial, entry) for partial in matrix.exclude)]
    if not kept:
        findings.add(join(pointer, "matrix"), "the matrix excludes every combination", "remove an entry of `exclude`")
    return kept


def with_axes(test: Test, combination: Combination) -> Test:
    """The test with the fields set that its axes name."""
    return test.model_copy(update={_FIELDS[axis]: value for axis, value in combination.items() if axis in _FIELDS})


def _covers(partial: Combination, entry: Combination) -> bool:
    return all(_same(entry[axis], value) for axis, value in partial.items())


def _same(one: Scalar, other: Scalar) -> bool:
    """Equal as JSON sees it: `true` is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _check_axis(name: str, pointer: str, reserved: frozenset[str], findings: Findings) -> None:
    if name in reserved:
        message = f"axis `{name}` has the name of a placeholder that the harness fills in"
        findings.add(pointer, message, "rename the axis")
    elif name in keys_of(Test) and name not in _FIELDS:
        message = f"axis `{name}` has the name of a test field that an axis cannot set"
        findings.add(pointer, message, "rename the axis")
    elif name not in _FIELDS and not re.fullmatch(r"\w+", name):
        findings.add(pointer, f"axis `{name}` cannot be a placeholder", "use letters, digits and underscores")


def _check_slip(name: str, pointer: str, used: frozenset[str], findings: Findings) -> None:
    """An axis that nearly sets a field of the test, and that no command uses, measures the same again and again."""
    near = difflib.get_close_matches(name, _FIELDS, n=1, cutoff=0.8)
    if name not in _FIELDS and near and name not in used:
        message = f"axis `{name}` sets nothing: no field of a test has that name, and no command uses it"
        findings.add(pointer, message, f"did you mean `{near[0]}`?")


def _check_values(name: str, values: Sequence[Scalar], pointer: str, findings: Findings) -> None:
    for index, value in enumerate(values):
        if any(_same(value, other) for other in values[:index]):
            findings.add(join(pointer, index), f"axis `{name}` lists {value!r} twice", _ONE)
        if name not in _FIELDS:
            continue
        try:
            Test.model_validate({"metric": "delay", name: value})
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            message = f"axis `{name}` sets the test's `{name}`: {said[:1].lower()}{said[1:]}"
            findings.add(join(pointer, index), message)


def _check_exclusion(
    entry: Combination, axes: Mapping[str, Sequence[Scalar]], pointer: str, findings: Findings
) -> None:
    for name, value in entry.items():
        if name not in axes:
            hint = suggest(name, axes.keys()) or "axes: " + ", ".join(axes)
            findings.add(join(pointer, name), f"exclude names `{name}`, which is no axis", hint)
        elif not any(_same(value, other) for other in axes[name]):
            listed = ", ".join(str(other) for other in axes[name])
            message = f"exclude names {value!r}, which axis `{name}` does not have"
            findings.add(join(pointer, name), message, f"it has: {listed}")
