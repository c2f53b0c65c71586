"""Contract of frameworks, as checks that the tests of any framework can run.

    CASE = FrameworkCase(
        create=lambda: MyFramework(...),
        benchmark=benchmark_of("my_framework", files={"files.model": "/d/net.bin"}),
        output=Path("recorded.txt").read_text(),
        observed={"NET latency": 5},
    )

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_framework_keeps_the_contract(check: Check) -> None:
        check(CASE)

A check passes silently or raises `ContractBroken`. They need the output of one real launch; no device, and no runner
unless the case has `runs`. What concerns one framework only (its arguments, its notes) is for its own tests.
"""

from __future__ import annotations

from typing import Final

from harness.testing.frameworks import exporting, parsing, running
from harness.testing.frameworks.case import HERE, Check, FrameworkCase, benchmark_of

__all__ = [
    "CHECKS",
    "HERE",
    "Check",
    "FrameworkCase",
    "benchmark_of",
    "exporting",
    "parsing",
    "running",
]

CHECKS: Final[tuple[Check, ...]] = (*running.CHECKS, *parsing.CHECKS, *exporting.CHECKS)
