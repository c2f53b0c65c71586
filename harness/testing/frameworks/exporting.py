"""Checks of frameworks that export programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.protocols import ExportChecking, Exporter
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
    """For an unknown definition or recipe it raises `ExportFailed` with a hint, also where it checks exports."""
    if not isinstance(case.create(), Exporter):
        return
    for name in ("definition", "recipe"):
        for wrong in ("no_such_name", "", "../x", "a b"):
            export = _export(case).model_copy(update={name: wrong})
            _expect_failure(
                _exporter(case).fingerprint, export, f"has a fingerprint of an export whose {name} is {wrong!r}"
            )
            if isinstance(checking := _exporter(case), ExportChecking):
                _expect_failure(checking.check_export, export, f"finds nothing wrong with the {name} {wrong!r}")


def known_exports_are_accepted(case: FrameworkCase) -> None:
    """What has a fingerprint passes the check of exports."""
    if isinstance(checking := case.create(), ExportChecking):
        try:
            checking.check_export(_export(case))
        except ExportFailed as error:
            raise ContractBroken(f"it refuses an export that has a fingerprint: {error}") from error


CHECKS: Final[tuple[Check, ...]] = (
    fingerprints_of_exports_are_stable,
    unknown_exports_fail_with_a_hint,
    known_exports_are_accepted,
)


def _expect_failure(ask: Callable[[Export], object], export: Export, otherwise: str) -> None:
    try:
        ask(export)
    except ExportFailed as error:
        expect(bool(error.hint), f"its error has no hint: {error}")
    else:
        raise ContractBroken(f"it {otherwise}")


def _export(case: FrameworkCase) -> Export:
    if case.export is None:
        raise ContractBroken("the case of an Exporter needs an `export`")
    return case.export


def _exporter(case: FrameworkCase) -> Exporter:
    framework = case.create()
    if not isinstance(framework, Exporter):
        raise ContractBroken("one object of the framework is an Exporter, and a second one is not")
    return framework
