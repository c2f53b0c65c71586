"""What every contract suite says when an implementation does not keep its promise."""

from __future__ import annotations


class ContractBroken(AssertionError):
    """An implementation does not do what its protocol in `harness.core.protocols` asks."""


def expect(condition: bool, otherwise: str) -> None:
    """Go on only when the condition holds.

    Raises:
        ContractBroken: Saying what was expected.
    """
    if not condition:
        raise ContractBroken(otherwise)
