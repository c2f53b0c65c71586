"""How programs ended, in words."""

from __future__ import annotations

import pytest

from harness.core.command import Command, Completed

OBSERVED = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "12"}'


@pytest.mark.parametrize(
    ("stdout", "stderr", "reason"),
    [
        (f"out of tokens\n{OBSERVED}\n", "", "ended with exit status 3: out of tokens"),
        (f"1: {OBSERVED}\n", "", "ended with exit status 3 without a message"),
        ("", f"no such operator\n{OBSERVED}\n", "ended with exit status 3: no such operator"),
        ("", "", "ended with exit status 3 without output"),
    ],
)
def test_what_was_measured_is_no_cause_of_a_failure(stdout: str, stderr: str, reason: str) -> None:
    completed = Completed(Command(("model",)), exit_code=3, stdout=stdout, stderr=stderr)
    assert completed.describe() == reason
