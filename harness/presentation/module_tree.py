"""Modules of a model as a tree with the time of their operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.presentation.profiles import ProfileRow

NO_MODULE = "(no module)"
"""Part of the tree for operators whose nodes cannot be told, and for what delegates added and took beside them."""


@dataclass(slots=True)
class ModuleTime:
    """Module, or a single operator of one, with the time below it.

    Attributes:
        name: Last part of its name; several parts where a module has nothing but one other.
        path: Its whole name; empty for the model.
        time_us: Time of everything below it.
        delegated_us: That part of it which delegates execute.
        operators: The operators below it.
        parts: What it consists of, in order of execution.
        is_told: Whether it is a part of the model.
    """

    name: str
    path: str = ""
    time_us: float = 0.0
    delegated_us: float = 0.0
    operators: list[str] = field(default_factory=list)
    parts: list[ModuleTime] = field(default_factory=list)
    is_told: bool = True

    def add(self, row: ProfileRow) -> None:
        """Add the time of an operator."""
        self.time_us += row.median_us
        self.delegated_us += row.median_us if row.delegate else 0.0
        self.operators.append(row.name)

    def part(self, name: str) -> ModuleTime:
        """Return the part of this name; a new one comes last."""
        for known in self.parts:
            if known.name == name:
                return known
        self.parts.append(ModuleTime(name, f"{self.path}.{name}" if self.path else name, is_told=self.is_told))
        return self.parts[-1]

    @property
    def depth(self) -> int:
        """Number of levels below it."""
        return max((1 + part.depth for part in self.parts), default=0)


def build_module_tree(rows: Iterable[ProfileRow], name: str) -> ModuleTime:
    """Build the tree of all operators.

    Args:
        rows: Operators in order of execution. Parts have the order of their first operators, the untold part is last.
        name: Name of the model.
    """
    root, untold = ModuleTime(name), ModuleTime(NO_MODULE, NO_MODULE, is_told=False)
    for row in rows:
        node = row.identity.main_node if row.identity is not None else None
        if node is None:
            untold.add(row)
            untold.part(row.kind).add(row)
            continue
        root.add(row)
        part = root
        for word in node.module.split(".") if node.module else ():
            part = part.part(word)
            part.add(row)
        if not node.module:
            part.part(f"({row.kind})").add(row)
    _divide(root)
    if untold.operators:
        root.time_us += untold.time_us
        root.delegated_us += untold.delegated_us
        root.operators += untold.operators
        root.parts.append(untold)
    for part in root.parts:
        _join(part)
    return root


def walk(tree: ModuleTime, level: int = 0, start_us: float = 0.0) -> Iterator[tuple[ModuleTime, int, float]]:
    """Yield each part below a module with its level and the time at which it begins, if all ran one after the other."""
    for part in tree.parts:
        yield part, level, start_us
        yield from walk(part, level + 1, start_us)
        start_us += part.time_us


def _divide(module: ModuleTime) -> None:
    """Give a module that has both modules and operators of its own a part for these: parts then add up to it."""
    for part in module.parts:
        _divide(part)
    below = _sum(module.parts)
    if module.parts and len(below) < len(module.operators):
        known = set(below)
        own = [name for name in module.operators if name not in known]
        inside = ModuleTime("(itself)", module.path, operators=own)
        inside.time_us = max(0.0, module.time_us - sum(part.time_us for part in module.parts))
        inside.delegated_us = max(0.0, module.delegated_us - sum(part.delegated_us for part in module.parts))
        if own:
            module.parts.append(inside)


def _sum(parts: Sequence[ModuleTime]) -> list[str]:
    return [name for part in parts for name in part.operators]


def _join(module: ModuleTime) -> None:
    """Join a module with its only part: a level without a choice says nothing."""
    while len(module.parts) == 1:
        (part,) = module.parts
        module.name = part.name if not module.is_told else f"{module.name}.{part.name}"
        module.path, module.parts = part.path, part.parts
    for part in module.parts:
        _join(part)
