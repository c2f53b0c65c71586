"""Files beside an ExecuTorch program, besides those of every export (`frameworks.exporting.companions`)."""

from __future__ import annotations

from typing import Final

GRAPH: Final = ".graph.txt"
"""Suffix of the lowered graph as text, with the inside of each delegate."""

NODES: Final = ".nodes.json"
"""Suffix of the nodes of that graph, and of the instructions that execute them: a `ProgramGraph`."""
