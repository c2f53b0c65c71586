"""Gaps of layers in the order of execution: where the outputs of a lowered model leave those of its origin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.evaluation import LayerGap
from harness.presentation.numbers import format_number
from harness.presentation.text import make_printable
from reporters.document.axis import fit_axis
from reporters.document.picture import Dot, Label, Mark, Path, Picture, draw_grid

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 30, 34
_NAMED: Final = 3
"""Layers that are named: those after which the most is lost."""


def draw_layers(layers: Sequence[LayerGap], name: str, title: str) -> Picture | None:
    """Draw the signal-to-noise ratio after each layer; None for fewer than two that have one.

    Args:
        layers: Gaps of one stage, in the order of execution.
        name: Name of the picture, unique on its page.
        title: Benchmark and stage.
    """
    shown = [(layer, layer.sqnr_db) for layer in layers if layer.sqnr_db is not None]
    if len(shown) < 2:
        return None
    upwards = fit_axis([ratio for _, ratio in shown], HEIGHT - BOTTOM, TOP, padding=0.1)
    along = fit_axis([0.0, len(shown) - 1.0], LEFT + 6, WIDTH - RIGHT)
    places = [(along.place(float(number)), upwards.place(ratio)) for number, (_, ratio) in enumerate(shown)]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    marks: list[Mark] = [
        *draw_grid(upwards, LEFT, WIDTH - RIGHT, unit="dB"),
        Label("SQNR after each layer", 4, 14, kind="name"),
        Label("first layer", LEFT, HEIGHT - 8),
        Label("last", WIDTH - RIGHT, HEIGHT - 8, "end"),
        Path("course", f"M{line}"),
    ]
    marks += [Dot("center", x, y, 2.6, _describe(layer)) for (layer, _), (x, y) in zip(shown, places, strict=True)]
    for number in sorted(_find_losses([ratio for _, ratio in shown])[:_NAMED]):
        layer, (x, y) = shown[number][0], places[number]
        marks.append(Dot("doubtful center", x, y, 4.5, _describe(layer)))
        text = make_printable(layer.module or layer.name)
        marks.append(Label(text, x, min(y + 16, HEIGHT - BOTTOM - 2), "end" if x > WIDTH / 2 else "start", "name"))
    described = "; ".join(
        _describe(shown[number][0]) for number in _find_losses([ratio for _, ratio in shown])[:_NAMED]
    )
    return Picture(name, WIDTH, HEIGHT, title, f"Largest losses: {described}", marks)


def _find_losses(ratios: Sequence[float]) -> list[int]:
    """Return the numbers of the layers after which the ratio falls most below all before, the largest loss first."""
    losses: list[tuple[float, int]] = []
    lowest = ratios[0]
    for number, ratio in enumerate(ratios[1:], start=1):
        if ratio < lowest:
            losses.append((lowest - ratio, number))
            lowest = ratio
    return [number for _, number in sorted(losses, reverse=True)]


def _describe(layer: LayerGap) -> str:
    parts = [f"{format_number(layer.sqnr_db)} dB", layer.operator, layer.module, layer.source]
    return make_printable(f"{layer.name}: {', '.join(part for part in parts if part)}")
