"""Exports the programs that the runner tests execute, into the folder given. A script: the exporter stays outside."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower


class Add(torch.nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left + right


class Linear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(rows))


class Chain(torch.nn.Module):
    """Long enough for the memory plan to put an intermediate value where the input was."""

    def forward(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        doubled = values * 2
        increased = doubled + 1
        product = increased * increased - doubled
        return product.sum(1), product


class Shared(torch.nn.Module):
    """Large enough for XNNPACK to share its rows among threads."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(512, 512)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(rows))


class Scaled(torch.nn.Module):
    """Has an input that is not a tensor."""

    def forward(self, values: torch.Tensor, factor: int) -> torch.Tensor:
        return values * factor


class Negative(torch.nn.Module):
    """Keeps the layout of its input."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return -values


class Nonzero(torch.nn.Module):
    """Has an output whose shape depends on the values of its input."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(values)


class Square(torch.nn.Module):
    """Takes the longer the larger it is, and has no weights."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows @ rows


def main(folder: Path) -> None:
    """Write every program, and the damaged ones."""
    wide = torch.ones(1 << 24)  # 64 MiB, planned once as input and once as output
    programs: dict[str, tuple[torch.nn.Module, tuple[object, ...]]] = {
        "add": (Add(), (torch.ones(4), torch.ones(4))),
        "add_int": (Add(), (torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64))),
        "chain": (Chain(), (torch.ones(4, 4),)),
        "scaled": (Scaled(), (torch.ones(4), 3)),
        "channels_last": (Negative(), (torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),)),
        "nonzero": (Nonzero(), (torch.ones(4),)),
        "square": (Square(), (torch.ones(128, 128),)),
        "large_square": (Square(), (torch.ones(640, 640),)),
        "wide": (torch.nn.ReLU(), (wide,)),
    }
    for name, (module, inputs) in programs.items():
        exported = torch.export.export(module.eval(), inputs)
        (folder / f"{name}.pte").write_bytes(to_edge_transform_and_lower(exported).to_executorch().buffer)
    delegated: dict[str, tuple[torch.nn.Module, torch.Tensor]] = {
        "linear": (Linear(), torch.ones(1, 8)),
        "shared": (Shared(), torch.ones(512, 512)),
    }
    for name, (module, rows) in delegated.items():
        exported = torch.export.export(module.eval(), (rows,))
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        (folder / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)
    damage(folder)


def damage(folder: Path) -> None:
    """Programs that cannot be loaded, each for its own reason."""
    add, linear = (folder / "add.pte").read_bytes(), (folder / "linear.pte").read_bytes()
    (folder / "unknown_operator.pte").write_bytes(add.replace(b"aten::add", b"aten::adx"))
    (folder / "unknown_backend.pte").write_bytes(linear.replace(b"XnnpackBackend", b"XnnpackBackenX"))
    (folder / "truncated.pte").write_bytes(linear[:900])
    (folder / "overwritten.pte").write_bytes(linear[:100] + b"\xff" * 300 + linear[400:])
    (folder / "garbage.pte").write_bytes(bytes(range(255, 0, -1)) * 20)
    (folder / "text.pte").write_text("<html>404</html>\n" * 50)
    (folder / "empty.pte").write_bytes(b"")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
