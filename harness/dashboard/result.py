"""Page of a result in full: what was measured where, every figure, every launch, and its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup
from msgspec import Struct

from harness.core.device_doubt import DeviceDoubt, mark_doubts
from harness.core.metric import main_metric
from harness.core.result import Result, make_writable, without_samples
from harness.dashboard.change_lines import CommitLine, describe_commit_info
from harness.dashboard.links import Links, Site
from harness.dashboard.rendering import render_view
from harness.dashboard.wording import format_moment, format_range
from harness.presentation.alarm_headlines import clip, format_effect
from harness.presentation.distributions import describe_launches
from harness.presentation.numbers import format_number, format_quantity
from harness.store.canonical_json import RESULT_FILE
from harness.store.history import ArtifactInfo, Contrast, ResultRow
from reporters.document.picture import Picture
from reporters.html.page import render_body
from reporters.html.pictures.launches import draw_launches
from reporters.pages import ReportedRun

_METRICS: Final = 400
"""Most rows of figures."""
_FILES: Final = 300
_TEXT: Final = 200


class _FigureLine(Struct, frozen=True):
    """Figures of a metric, as a row."""

    name: str
    value: str
    interval: str
    count: str
    direction: str


class _FileLine(Struct, frozen=True):
    name: str
    size: str
    href: str


class _ContrastLine(Struct, frozen=True):
    """Comparison with a control, as the top of the page has it."""

    kind: str
    verdict: str
    effect: str
    pairs: int
    control: CommitLine
    href: str


def render_result(
    result: Result,
    row: ResultRow,
    artifacts: Sequence[ArtifactInfo],
    site: Site,
    doubts: Sequence[DeviceDoubt] = (),
) -> str:
    """Render the page.

    Args:
        result: The result as it was measured.
        row: The same as lists have it.
        artifacts: Its files.
        site: The site.
        doubts: Doubts about its device.
    """
    links = site.links
    shown = make_writable(mark_doubts(result, doubts))
    return render_view(
        "result.html",
        site,
        title=row.cell.title,
        view="Latest",
        row=row,
        kind="" if shown.ok else "skipped" if shown.outcome.is_skipped else "failed",
        outcome=shown.outcome.words,
        value=_format_main(row),
        contrast=_describe_contrast(row.contrast, row, links) if row.contrast is not None else None,
        origin=shown.origin,
        published=_format_published(shown),
        notes=shown.notes,
        hint=shown.hint,
        cell_href=links.cell(row.cell.key),
        commit=describe_commit_info(row.commit, links) if row.commit is not None else None,
        facts=list(_list_facts(shown)),
        figures=list(_list_figures(shown))[:_METRICS],
        figures_left=max(len(shown.metrics) - _METRICS, 0),
        samples=_draw_samples(shown),
        body=_render_launches(shown),
        files=[_describe_file(row.uid, file, links) for file in artifacts[:_FILES]],
        files_left=max(len(artifacts) - _FILES, 0),
        json_href=links.document(row.uid),
        json_name=RESULT_FILE,
        archive_href=links.archive(row.uid),
        reproduce=row.reproduce,
    )


def _render_launches(result: Result) -> Markup:
    """Render the pictures and tables that the page of a run has for a benchmark."""
    metric = main_metric(result.metrics)
    launches = {result.uid: describe_launches(metric)} if metric is not None else {}
    return render_body(
        ReportedRun([without_samples(result)], Path(), finished=True, launches=launches, in_folders=False)
    )


def _draw_samples(result: Result) -> Picture | None:
    """Draw the samples of each launch of a compared result; the page of a run draws its pairs instead."""
    metric = main_metric(result.metrics)
    if metric is None or result.comparison is None:
        return None
    return draw_launches(metric, describe_launches(metric), "samples")


def _format_main(row: ResultRow) -> str:
    figure = row.figure
    if figure is None or figure.median is None:
        return ""
    unit = figure.metric.unit
    ends = f" [{format_range(figure.low, figure.high, unit)}]" if figure.low is not None else ""
    return f"{format_quantity(figure.median, unit)}{ends}"


def _describe_contrast(contrast: Contrast, row: ResultRow, links: Links) -> _ContrastLine:
    href = links.comparison(contrast.control.id, row.commit.id) if row.commit is not None else ""
    return _ContrastLine(
        kind=contrast.verdict.value.replace(" ", "-"),
        verdict=contrast.verdict.value,
        effect=format_effect(contrast.effect),
        pairs=contrast.pairs,
        control=describe_commit_info(contrast.control, links),
        href=href,
    )


def _format_published(result: Result) -> str:
    origin, metric = result.origin, main_metric(result.metrics)
    if origin is None or origin.published is None or metric is None:
        return ""
    return format_quantity(origin.published, metric.unit)


def _list_facts(result: Result) -> Iterator[tuple[str, str]]:
    benchmark, build, device = result.benchmark, result.build, result.device
    facts = [
        ("device", " · ".join(filter(None, [device.name, device.identity])) if device is not None else "none"),
        ("framework", benchmark.framework),
        ("backend", result.backend),
        ("specification", benchmark.specification),
        ("inputs", ", ".join(f"{name} {'×'.join(map(str, dims))}" for name, dims in benchmark.inputs.items())),
        ("options", ", ".join(f"{name} {value}" for name, value in benchmark.axes.items())),
        ("runner", " · ".join(filter(None, [build.source, build.recipe or ""])) if build is not None else "none"),
        (
            "measured",
            f"{format_moment(result.started)} UTC, in {format_quantity(result.finished - result.started, 's')}",
        ),
        ("by", f"harness {result.harness_version}"),
        ("run", result.run),
        ("result", result.uid),
    ]
    for name, text in facts:
        if text:
            yield name, clip(text, _TEXT)


def _list_figures(result: Result) -> Iterator[_FigureLine]:
    """Yield a row for each metric, those of operators last."""
    for metric in sorted(result.metrics, key=lambda metric: metric.is_of_operator):
        interval = metric.interval
        count = metric.summary.get("n")
        yield _FigureLine(
            name=metric.name,
            value=clip(metric.info, _TEXT) if metric.info is not None else format_quantity(metric.median, metric.unit),
            interval=format_range(interval.low, interval.high, metric.unit) if interval is not None else "",
            count=format_number(count),
            direction=metric.direction.value if metric.direction is not None else "",
        )


def _describe_file(uid: str, file: ArtifactInfo, links: Links) -> _FileLine:
    return _FileLine(file.name, format_quantity(float(file.size_bytes), "bytes"), links.artifact(uid, file.name))
