"""Checks of frameworks that export programs."""

from __future__ import annotations

import sys
from typing import Final

from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.protocols import Exporter
from harness.testing.contract import ContractBroken, expect
from harness.testing.frameworks.case import Check, FrameworkCase

_HEAVY: Final = frozenset(("torch", "tensorflow", "onnxruntime", "jax"))


def fingerprints_of_exports_are_stable(case: FrameworkCase) -> None:
    """Two objects give the same fingerprint of an export, without importing what would make it."""
    framework = case.create()
    if not isinstance(framework, Exporter):
        return
    export = _export(case)
    light = _HEAVY - sys.modules.keys()
    first, second = framework.fingerprint(export), _exporter(case).fingerprint(export)
    expect(bool(first), "the fingerprint is empty")
    expect(dict(first) == dict(second), f"{dict(first)} became {dict(second)}")
    texts = all(isinstance(text, str) for pair in first.items() for text in pair)
    expect(texts, "the fingerprint holds something else than strings")
    heavy = sorted(light & sys.modules.keys())
    expect(not heavy, f"a fingerprint imports {', '.join(heavy)}: `validate` asks for one for every file")


def unknown_exports_fail_with_a_hint(case: FrameworkCase) -> None:
    """For an unknown definition or recipe it raises `ExportFailed` with a hint."""
    if not isinstance(case.create(), Exporter):
        return
    for name in ("definition", "recipe"):
        for wrong in ("no_such_name", "", "../x", "a b"):
            try:
                _exporter(case).fingerprint(_export(case).model_copy(update={name: wrong}))
            except ExportFailed as error:
                expect(bool(error.hint), f"its error has no hint: {error}")
            else:
                raise ContractBroken(f"it has a fingerprint of an export whose {name} is {wrong!r}")


CHECKS: Final[tuple[Check, ...]] = (
    fingerprints_of_exports_are_stable,
    unknown_exports_fail_with_a_hint,
)


def _export(case: FrameworkCase) -> Export:
    if case.export is None:
        raise ContractBroken("the case of an Exporter needs an `export`")
    return case.export


def _exporter(case: FrameworkCase) -> Exporter:
    framework = case.create()
    if not isinstance(framework, Exporter):
        raise ContractBroken("one object of the framework is an Exporter, and a second one is not")
    return framework
