"""Gaps of layers in the order of execution: where the outputs of lowered models leave those of their origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.core.evaluation import LayerGap
from harness.presentation.numbers import format_number
from harness.presentation.text import make_printable
from reporters.document.axis import fit_axis
from reporters.document.picture import CHARACTER, Circle, Label, Mark, Path, Picture, draw_grid

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 84, 16, 44, 34
_NAMED: Final = 2
"""Layers of each program that are named: those after which the most is lost."""
_KINDS: Final = ("course", "trace", "course dashed", "trace dashed")
"""Classes of the lines, in the order of programs."""

Trace = Sequence[tuple[LayerGap, float]]


def draw_layers(programs: Mapping[str, Sequence[LayerGap]], name: str, title: str) -> Picture | None:
    """Draw the signal-to-noise ratio after each layer, a line for each program.

    Layers of the same name are the same place of the model, also where one program stores fewer of them.

    Args:
        programs: Gaps of one stage in the order of execution, by name of the program.
        name: Name of the picture, unique on its page.
        title: Model and stage.

    Returns:
        None where no program has two layers with a ratio.
    """
    traces = {program: _known(gaps) for program, gaps in programs.items()}
    traces = {program: trace for program, trace in traces.items() if len(trace) > 1}
    if not traces:
        return None
    places = _order([[layer.name for layer, _ in trace] for trace in traces.values()])
    upwards = fit_axis((ratio for trace in traces.values() for _, ratio in trace), HEIGHT - BOTTOM, TOP, padding=0.1)
    along = fit_axis([0.0, len(places) - 1.0], LEFT + 6, WIDTH - RIGHT)
    marks: list[Mark] = [
        *draw_grid(upwards, LEFT, WIDTH - RIGHT, unit="dB"),
        Label("SQNR after each layer", 4, 14, kind="name"),
        Label("first layer", LEFT, HEIGHT - 8),
        Label("last", WIDTH - RIGHT, HEIGHT - 8, "end"),
    ]
    described, key_x = [], float(LEFT)
    for number, (program, trace) in enumerate(traces.items()):
        kind = _KINDS[number % len(_KINDS)]
        points = [(along.place(float(places[layer.name])), upwards.place(ratio)) for layer, ratio in trace]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        marks += [
            Path(kind, f"M{line}"),
            Path(kind, f"M{key_x:g} 30h18"),
            Label(make_printable(program), key_x + 24, 34),
        ]
        key_x += 48 + CHARACTER * len(program)
        marks += [
            Circle("center", x, y, 2.2, _describe(layer)) for (layer, _), (x, y) in zip(trace, points, strict=True)
        ]
        losses = _find_losses([ratio for _, ratio in trace])[:_NAMED]
        for index in sorted(losses):
            layer, (x, y) = trace[index][0], points[index]
            marks.append(Circle("doubtful center", x, y, 4.5, _describe(layer)))
            text = make_printable(layer.module or layer.name)
            is_left = x + 8 + CHARACTER * len(text) > WIDTH
            marks.append(Label(text, x - 8 if is_left else x + 8, y + 4, "end" if is_left else "start", "name"))
        described += [f"{make_printable(program)}: {_describe(trace[index][0])}" for index in losses]
    return Picture(name, WIDTH, HEIGHT, title, f"Largest losses: {'; '.join(described)}", marks)


def _known(gaps: Sequence[LayerGap]) -> Trace:
    return [(gap, gap.sqnr_db) for gap in gaps if gap.sqnr_db is not None]


def _order(lists: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the place of each name: in the order of the longest list, names of others behind those before them."""
    names: list[str] = []
    for known in sorted(lists, key=len, reverse=True):
        place = 0
        for name in known:
            if name in names:
                place = names.index(name) + 1
            else:
                names.insert(place, name)
                place += 1
    return {name: number for number, name in enumerate(names)}


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
