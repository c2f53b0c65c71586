"""Identities of operators as words: their modules and lines, or the reason for having none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.core.program_graph import OperatorIdentity


def describe_module(identity: OperatorIdentity | None) -> str:
    """Return the module of an operator; its node where it belongs to none; or why neither can be told."""
    if identity is None:
        return ""
    node = identity.main_node
    if node is not None:
        return node.module or f"({node.exported or node.name})"
    if identity.nodes_inside is not None:
        nodes = "node" if identity.nodes_inside == 1 else "nodes"
        return f"inside delegate call {identity.instruction}: {identity.nodes_inside} {nodes}"
    return f"added by {identity.delegate}" if identity.delegate else ""


def describe_source(identity: OperatorIdentity | None) -> str:
    """Return file and line of an operator; empty where they are not known."""
    node = identity.main_node if identity is not None else None
    return node.source.place if node is not None and node.source is not None else ""
