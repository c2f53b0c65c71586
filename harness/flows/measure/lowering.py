"""What a person is told about a file: how large it is and, for an exported program, what was lowered."""

from __future__ import annotations

from collections.abc import Mapping

from harness.core.files import CachedFile, Delegation

_KINDS = 6
"""Operator kinds named one by one; the rest is counted."""


def describe(file: CachedFile) -> str:
    """One paragraph about a cached file."""
    report = file.report
    if report is None:
        return f"{'fetched' if file.fresh else 'cached '} {file.filename}: {_size(file.size_bytes)}"
    seconds = sum(report.seconds.values())
    how = f"exported in {seconds:.0f} s" if file.fresh else "cached"
    head = f"{file.filename}: {_size(report.size_bytes)}, {how}"
    return head if report.delegation is None else f"{head}\n{lowered(report.delegation)}"


def lowered(delegation: Delegation) -> str:
    """Delegated and other operators by kind."""
    graphs = f"{delegation.subgraphs} sub-graph{'' if delegation.subgraphs == 1 else 's'}"
    return (
        f"  {delegation.delegated_count} delegated in {graphs}{_kinds(delegation.delegated)}\n"
        f"  {delegation.non_delegated_count} not delegated{_kinds(delegation.non_delegated)}"
    )


def _kinds(counts: Mapping[str, int]) -> str:
    if not counts:
        return ""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{count} {kind}" for kind, count in ranked[:_KINDS])
    rest = sum(count for _, count in ranked[_KINDS:])
    return f": {named}" + (f" and {rest} more" if rest else "")


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB" if size_bytes >= 2**20 else f"{size_bytes / 2**10:.1f} KiB"
