"""Sampled stacks: functions by samples, a tree for pictures, and folded stacks, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from harness.core.probe import FunctionShare, StackFrame

UNKNOWN: Final = "[unknown]"
"""Function without a name."""

_OTHERS: Final = "[others]"
"""Stands for functions and branches beyond the limits below."""

_NODES: Final = 200_000
_FUNCTIONS: Final = 50_000
_DEEPEST: Final = 256
_LONGEST_NAME: Final = 300

_SHOWN_FUNCTIONS: Final = 50
"""Functions that a result lists; the folded stacks have all."""
_SMALLEST_BRANCH: Final = 0.004
"""Share of all samples that a branch of a picture has at least: 2.5 of 640 points."""
_SHOWN_NODES: Final = 1500


class Frame(NamedTuple):
    """Function on a stack.

    Attributes:
        symbol: Its name.
        module: Program or library that it is in.
    """

    symbol: str
    module: str


@dataclass(slots=True)
class _Node:
    symbol: str
    samples: int = 0
    callees: dict[str, _Node] = field(default_factory=dict)


class StackProfile:
    """Profile that grows by one sampled stack after the other."""

    def __init__(self) -> None:
        self._root = _Node("")
        self._nodes = 0
        self._functions: dict[Frame, int] = {}

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self._root.samples

    def add(self, frames: Iterable[Frame], thread: str = "") -> None:
        """Add one sample.

        Args:
            frames: Its functions, the innermost first.
            thread: Name of the thread, which becomes the outermost frame.
        """
        stack = [Frame(clean_name(frame.symbol), clean_name(frame.module)) for frame in frames][:_DEEPEST]
        if not stack:
            stack = [Frame(UNKNOWN, UNKNOWN)]
        self._count_function(stack[0])
        node = self._root
        node.samples += 1
        for name in (*((clean_name(thread),) if thread else ()), *(frame.symbol for frame in reversed(stack))):
            node = self._descend(node, name)
            node.samples += 1

    def list_functions(self) -> tuple[FunctionShare, ...]:
        """Return the functions with the most samples of their own, the largest share first."""
        ranked = sorted(self._functions.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            FunctionShare(
                symbol=frame.symbol, module=frame.module, samples=samples, share=samples / max(1, self.samples)
            )
            for frame, samples in ranked[:_SHOWN_FUNCTIONS]
        )

    def list_frames(self) -> tuple[StackFrame, ...]:
        """Return the tree of all stacks without branches that a picture cannot show."""
        least = max(1.0, _SMALLEST_BRANCH * self.samples)
        frames: list[StackFrame] = []
        pending = [(0, node) for node in _by_name(self._root)]
        while pending and len(frames) < _SHOWN_NODES:
            depth, node = pending.pop()
            if node.samples >= least:
                frames.append(StackFrame(depth=depth, symbol=node.symbol, samples=node.samples))
                pending += [(depth + 1, callee) for callee in _by_name(node)]
        return tuple(frames)

    def fold(self) -> str:
        """Return every stack as a line `outermost;...;innermost samples`, as tools that draw flame graphs read it."""
        return "".join(f"{';'.join(names)} {samples}\n" for names, samples in self._iterate_stacks())

    def _iterate_stacks(self) -> Iterator[tuple[tuple[str, ...], int]]:
        pending: list[tuple[tuple[str, ...], _Node]] = [((node.symbol,), node) for node in _by_name(self._root)]
        while pending:
            names, node = pending.pop()
            own = node.samples - sum(callee.samples for callee in node.callees.values())
            if own:
                yield names, own
            pending += [((*names, callee.symbol), callee) for callee in _by_name(node)]

    def _descend(self, node: _Node, name: str) -> _Node:
        known = node.callees.get(name)
        if known is None and self._nodes >= _NODES:
            name = _OTHERS
            known = node.callees.get(name)
        if known is None:
            known = node.callees[name] = _Node(name)
            self._nodes += 1
        return known

    def _count_function(self, frame: Frame) -> None:
        if frame not in self._functions and len(self._functions) >= _FUNCTIONS:
            frame = Frame(_OTHERS, _OTHERS)
        self._functions[frame] = self._functions.get(frame, 0) + 1


def clean_name(name: str) -> str:
    """Return a name that fits into one frame of a folded line: no separators, nothing that cannot be shown."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in name[:_LONGEST_NAME])
    return text.replace(";", ":").strip() or UNKNOWN


def _by_name(node: _Node) -> list[_Node]:
    """Return its callees in the order in which a stack of work gives them back by name."""
    return sorted(node.callees.values(), key=lambda callee: callee.symbol, reverse=True)
