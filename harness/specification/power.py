"""Requests for energy: the `power` block of a test, and FAI-PEP's keys for the same."""

from __future__ import annotations

from harness.core.benchmark import ENERGY_TESTS, POWER
from harness.core.placeholders import suggest
from harness.core.power import BASELINE_S, WINDOW_S, PowerMethod, PowerRequest
from harness.specification.document import Findings, join
from harness.specification.file_format import MonsoonEntry, PowerEntry, Test

_MONSOON = "monsoon"


def is_about_energy(test: Test, metric: str) -> bool:
    """Return whether energy is what a test measures; with a list of kinds, energy has a pass of its own."""
    return not test.kinds and (metric == POWER or (test.power is not None and metric in ENERGY_TESTS))


def request_power(test: Test, metric: str) -> PowerRequest | None:
    """Return how the energy of a test is metered; None where it is not, or without a baseline (`energy` alone).

    The `power` block goes before FAI-PEP's `monsoon`, and this before its keys of the test.
    """
    if not (is_about_energy(test, metric) or test.is_metered):
        return None
    block = test.power or PowerEntry()
    monsoon = test.monsoon if isinstance(test.monsoon, MonsoonEntry) else MonsoonEntry()
    entries = (block, monsoon, test)
    return PowerRequest(
        method=block.method or _find_method(test),
        baseline_s=block.baseline or BASELINE_S,
        window_s=block.window or WINDOW_S,
        collection_time_s=next((entry.collection_time for entry in entries if entry.collection_time), None),
        voltage_v=next((entry.voltage for entry in entries if entry.voltage), None),
        disable_usb=any(entry.disable_usb in {True, "true"} for entry in (block, monsoon)),
    )


def check_power(test: Test, pointer: str, findings: Findings) -> None:
    """Report a `power` block of a test that does not meter energy, and a method that is unknown."""
    if test.power is not None and not test.is_metered:
        findings.add(
            join(pointer, "power"),
            f"the test does not meter energy, and has a `power` block (metric `{test.main_metric}`)",
            'take the metric "power", add it to the list of metrics, or set `energy`',
        )
    if test.is_metered and test.method is not None and _find_method(test) is None:
        known = [method.value for method in PowerMethod]
        hint = suggest(test.method, known) or f"known: {', '.join(known)}"
        findings.add(join(pointer, "method"), f"unknown method `{test.method}` to meter energy", hint)


def _find_method(test: Test) -> PowerMethod | None:
    """Return FAI-PEP's method: `monsoon_with_usb` and the like are Monsoon's; its keys without a method are, too."""
    if test.method is not None:
        word = _MONSOON if test.method.startswith(_MONSOON) else test.method
        return next((method for method in PowerMethod if method == word), None)
    asks = any(getattr(test, key) not in (None, False) for key in (_MONSOON, "collection_time", "voltage"))
    return PowerMethod.MONSOON if asks else None
