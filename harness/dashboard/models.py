"""Models: which there are, and backend against backend for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from harness.dashboard.links import Site
from harness.dashboard.rendering import Shown, render_view
from harness.store.history import BackendRow, Cell, ResultRow
from reporters.document.picture import Picture
from reporters.html.pictures.bars import Bar, draw_bars, explain_bars


class DeviceGroup(Struct, frozen=True):
    """Benchmarks of a model on one device.

    Attributes:
        device: Name of the device.
        rows: The benchmarks.
        pictures: A picture with its explanation for each metric that several of them have.
    """

    device: str
    rows: Sequence[BackendRow]
    pictures: Sequence[tuple[Picture, str]]


def render_models(latest: Sequence[ResultRow], site: Site) -> str:
    """Render the list of models, from the newest result of each cell."""
    cells: dict[str, list[Cell]] = {}
    for row in latest:
        cells.setdefault(row.cell.model, []).append(row.cell)
    models = [
        (
            model,
            len({cell.identifier for cell in known}),
            len({cell.device.identity for cell in known}),
            ", ".join(sorted({cell.backend for cell in known if cell.backend})),
        )
        for model, known in sorted(cells.items())
    ]
    return render_view("models.html", site, title="Models", view="Models", models=models)


def render_backends(model: str, rows: Sequence[BackendRow], site: Site) -> str:
    """Render the benchmarks of a model side by side, device by device.

    Args:
        model: Name of the model.
        rows: The newest good result of each benchmark, by device.
        site: What all pages have in common.
    """
    return render_view("backends.html", site, title=model, view="Models", model=model, groups=list(_group(model, rows)))


def _group(model: str, rows: Sequence[BackendRow]) -> Iterator[DeviceGroup]:
    by_device: dict[str, list[BackendRow]] = {}
    for row in rows:
        by_device.setdefault(row.result.cell.device.identity, []).append(row)
    for number, group in enumerate(by_device.values()):
        device = group[0].result.cell.device
        yield DeviceGroup(device.name or device.identity, group, list(_draw(model, group, number)))


def _draw(model: str, rows: Sequence[BackendRow], number: int) -> Iterator[tuple[Picture, str]]:
    """Draw what was measured here; figures from elsewhere stand in the table alone."""
    by_metric: dict[tuple[str, str], list[Bar]] = {}
    for row in rows:
        figure = row.result.figure
        if figure is None or figure.median is None or row.result.origin is not None:
            continue
        interval = Shown().range(figure.low, figure.high, figure.metric.unit)
        text = Shown().figure(figure)
        by_metric.setdefault((figure.metric.name, figure.metric.unit), []).append(
            Bar(
                row.result.cell.identifier,
                figure.metric.name,
                figure.metric.unit,
                figure.median,
                figure.low,
                figure.high,
                f"{text} ({interval})" if interval else text,
                "95 % interval over launches" if interval else "",
                row.result.trusted,
            )
        )
    for place, bars in enumerate(by_metric.values()):
        if len(bars) > 1:
            yield draw_bars(bars, model, f"bars{number}-{place}"), explain_bars(bars)
