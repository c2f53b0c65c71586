"""A run as one HTML page: verdicts first, then their grounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from harness.core.evaluation import LayerGap
from harness.core.examples import Stage
from harness.core.metric import main_metric
from harness.core.note import Note
from harness.core.result import Result
from harness.presentation.commands import collect_rerun_commands, explain_missing_command, format_reevaluate_command
from harness.presentation.comparison_section import (
    ComparisonDetails,
    ComparisonSection,
    describe_comparisons,
    describe_details,
)
from harness.presentation.comparison_table import LAUNCH_HEADINGS
from harness.presentation.estimates import Estimate, estimate, group_estimates
from harness.presentation.evaluation_section import EvaluationSection, describe_evaluated
from harness.presentation.evaluation_table import format_evaluation_legend
from harness.presentation.explanations import EVIDENCE_HEADINGS, head_interval, select_measured_comparisons
from harness.presentation.measurement_section import MeasurementSection, describe_measurements
from harness.presentation.measurement_table import describe_origin, format_legend
from harness.presentation.numbers import format_change, format_median, mark_throttled
from harness.presentation.pareto import find_compromises, group_rivals
from harness.presentation.remarks import choose_mark
from harness.presentation.tables import TitledTable
from harness.presentation.times import to_datetime
from harness.presentation.verdicts import categorise, format_headline, name_verdict, separate_comparisons
from reporters.document.picture import Picture
from reporters.document.rendering import load_environment, render_page
from reporters.document.tables import Heading, PageTable, TableCell, build_figures, build_table
from reporters.html.links import StoredLinks, link_stored
from reporters.html.pictures.bars import bar_of, draw_bars, explain_bars
from reporters.html.pictures.compromises import draw_compromises
from reporters.html.pictures.device import draw_device
from reporters.html.pictures.fleets import draw_fleet
from reporters.html.pictures.launches import draw_launches
from reporters.html.pictures.layers import draw_layers
from reporters.html.pictures.long_run import draw_long_run
from reporters.html.pictures.pairs import draw_interval, draw_pairs, interval_reach
from reporters.html.pictures.profile import draw_profile, explain_profile
from reporters.html.pictures.stacks import EXPLANATION, draw_stacks
from reporters.pages import ReportedRun

_PICTURES: Final = 200
"""Most pictures of launches and of pairs each; with more, a browser takes seconds to show a page."""

_NAMES: Final = ("", "model", "benchmark", "device", "metric", "figure")
_BUILDS: Final = ("control build", "treatment build")
"""Columns of comparisons that come first, and last."""


class Article(Struct, frozen=True):
    """Everything about one benchmark that the tables have no room for.

    Attributes:
        anchor: Its place on the page.
        kind: Class of the style sheet.
        title: Model and benchmark.
        badge: Verdict or outcome; empty where it was measured without a control and ended well.
        figure: Number that matters most.
        interval: Interval of that number.
        cost: Number of pairs and their time; of a measurement that another tool made it, else empty.
        reason: Why it has this verdict or outcome.
        pictures: Its pictures.
        tables: Small tables.
        key: Explanation of the tables, or of the last picture.
        notes: Notes in full, with their hints.
        commands: Commands that measure or judge it again, each with its purpose.
        stored: Links to its file and logs.
    """

    anchor: str
    kind: str
    title: str
    badge: str
    figure: str
    interval: str
    cost: str
    reason: str
    pictures: Sequence[Picture]
    tables: Sequence[PageTable]
    key: str
    notes: Sequence[Note]
    commands: Sequence[tuple[str, str]]
    stored: StoredLinks


def render(run: ReportedRun) -> str:
    """Render the whole file."""
    heading = format_headline(*separate_comparisons(run.results))
    return render_page(
        "reporters.html",
        "run.html",
        title=f"harness: {heading}",
        heading=heading[:1].upper() + heading[1:],
        notice=run.notice,
        body=render_body(run),
    )


def render_body(run: ReportedRun) -> Markup:
    """Render everything but the heading, as a part of this page or of another."""
    compared, measured = separate_comparisons(run.results)
    text = (
        load_environment("reporters.html")
        .get_template("own/body.html")
        .render(
            comparisons=_describe_comparisons(compared, run) if compared else None,
            evaluations=_describe_evaluations(measured),
            measurements=_describe_measurements(measured, run, len(compared)) if measured else None,
            devices=list(_draw_devices(run.results)),
            has_links=any(result.uid in run.places for result in run.results),
        )
    )
    return Markup(text)  # noqa: S704 - the template has escaped every text


class _Comparisons(Struct, frozen=True):
    section: ComparisonSection
    period: str
    table: PageTable
    operators: Sequence[tuple[str, PageTable]]
    fleets: Sequence[Picture]
    articles: Sequence[Article]
    commands: Sequence[str]


class _Measurements(Struct, frozen=True):
    section: MeasurementSection
    period: str
    table: PageTable
    legend: str
    bars: Sequence[tuple[Picture, str]]
    tables: Sequence[tuple[str, PageTable]]
    articles: Sequence[Article]


class _Evaluations(Struct, frozen=True):
    section: EvaluationSection
    table: PageTable
    legend: str
    compromises: Sequence[Picture]
    layers: Sequence[Picture]
    tables: Sequence[tuple[str, PageTable]]


def _describe_comparisons(results: Sequence[Result], run: ReportedRun) -> _Comparisons:
    section = describe_comparisons(results)
    details = {each.number: each for each in describe_details(results)}
    return _Comparisons(
        section,
        _format_period(results),
        _comparison_table(section),
        list(_titled_tables(section.operators)),
        [draw_fleet(fleet, f"fleet{number}") for number, fleet in enumerate(section.fleets)],
        [_comparison_article(number, result, details.get(number), run) for number, result in enumerate(results)],
        collect_rerun_commands(results, run.working_folder),
    )


def _describe_measurements(results: Sequence[Result], run: ReportedRun, first: int) -> _Measurements:
    section = describe_measurements(results)
    results = section.results
    overview = build_table(
        "measurements",
        section.overview,
        link=lambda number: f"#b{first + number}",
    )
    groups = group_estimates(results, run.launches)
    return _Measurements(
        section,
        _format_period(results),
        overview,
        format_legend({heading.text for heading in overview.headings}),
        [_draw_group(group, f"bars{number}") for number, group in enumerate(groups)],
        list(
            _titled_tables(
                *(section.generations, section.definitions, section.scenarios, section.paced),
                *(section.further_metrics, section.phases, section.functions, section.operators),
            )
        ),
        [_measurement_article(first + number, result, run) for number, result in enumerate(results)],
    )


def _draw_group(group: Sequence[Estimate], name: str) -> tuple[Picture, str]:
    bars = [bar_of(each) for each in group]
    return draw_bars(bars, group[0].result.benchmark.model, name), explain_bars(bars)


def _describe_evaluations(results: Sequence[Result]) -> _Evaluations | None:
    """Describe what lowering did to outputs; None where no outputs were evaluated."""
    evaluated = [result for result in results if result.evaluation is not None]
    if not evaluated:
        return None
    section = describe_evaluated(evaluated)
    table = build_table("evaluations", section.overview)
    drawn = [
        draw_compromises(group, f"compromises{number}")
        for number, group in enumerate(group_rivals(find_compromises(evaluated)))
    ]
    return _Evaluations(
        section,
        table,
        format_evaluation_legend([heading.text for heading in table.headings]),
        [picture for picture in drawn if picture is not None],
        list(_draw_layers(evaluated)),
        list(_titled_tables(section.stages, section.layers)),
    )


def _draw_layers(results: Sequence[Result]) -> Iterator[Picture]:
    """Draw the gaps of each stage of each model, with a line for each of its programs."""
    gaps: dict[tuple[str, Stage], dict[str, list[LayerGap]]] = {}
    for result in results:
        for layer in result.evaluation.layers if result.evaluation is not None else ():
            programs = gaps.setdefault((result.benchmark.model, layer.stage), {})
            programs.setdefault(result.benchmark.identifier, []).append(layer)
    for number, ((model, stage), programs) in enumerate(gaps.items()):
        if picture := draw_layers(programs, f"layers{number}", f"{model}: layers of the {stage} stage"):
            yield picture


def _comparison_table(section: ComparisonSection) -> PageTable:
    """Build the table of comparisons with their intervals drawn on one scale.

    Verdicts come before all other figures, and builds last: what does not fit a screen is at the end.
    """
    interval = head_interval(section.results)
    order = dict.fromkeys(_NAMES, 0) | {"verdict": 1, "difference": 2, interval: 2} | dict.fromkeys(_BUILDS, 4)
    table = build_table(
        "comparisons",
        sorted(section.columns, key=lambda column: order.get(column.name, 3)),
        kinds=[categorise(result).slug for result in section.results],
        link=lambda number: f"#b{number}",
    )
    reach = interval_reach(select_measured_comparisons(section.results))
    place = sum(order.get(heading.text, 3) < 3 for heading in table.headings)
    headings = [*table.headings]
    headings.insert(place, Heading(f"± {format_change(reach).lstrip('+')}", right=True))
    rows = []
    for number, (row, result) in enumerate(zip(table.rows, section.results, strict=True)):
        comparison = result.comparison
        picture = draw_interval(comparison, reach, f"i{number}") if comparison else None
        cells = [*row.cells]
        cells.insert(
            place, TableCell("", right=True, picture=picture, number=comparison.difference if comparison else None)
        )
        rows.append(replace(row, cells=cells))
    return replace(table, headings=headings, rows=rows)


def _comparison_article(number: int, result: Result, details: ComparisonDetails | None, run: ReportedRun) -> Article:
    category = categorise(result)
    article = Article(
        anchor=f"b{number}",
        kind=category.slug,
        title=result.benchmark.title,
        badge=name_verdict(result) if result.ok else result.outcome.words,
        figure="",
        interval="",
        cost="",
        reason="" if result.ok else result.reason or "",
        pictures=(),
        tables=(),
        key="",
        notes=_list_notes(result),
        commands=_reproduce(result),
        stored=link_stored(result, run),
    )
    if details is None:
        return article
    row = details.row
    picture = draw_pairs(details.comparison, f"p{number}") if number < _PICTURES else None
    return replace(
        article,
        badge=row.verdict,
        figure=row.difference,
        interval=row.interval,
        cost=f"{row.pairs} pairs, {row.time}",
        reason=details.reason,
        pictures=[picture] if picture else [],
        tables=[
            build_figures("launches", LAUNCH_HEADINGS, details.launches),
            build_figures("evidence", EVIDENCE_HEADINGS, details.evidence),
        ],
        key=details.launches_key,
        commands=[*_reproduce(result), *_reevaluate(result, run)],
    )


def _measurement_article(number: int, result: Result, run: ReportedRun) -> Article:
    main = main_metric(result.metrics) if result.ok else None
    launches = run.launches.get(result.uid, ())
    measured = estimate(result, launches)
    picture = draw_launches(main, launches, f"p{number}") if main and number < _PICTURES else None
    curve = draw_long_run(result.long_run, f"c{number}") if result.long_run and number < _PICTURES else None
    profile = draw_profile(result, f"o{number}") if number < _PICTURES else None
    stacks = list(_draw_stacks(result, f"s{number}")) if number < _PICTURES else []
    keys = [explain_profile(result)] if profile is not None else []
    return Article(
        anchor=f"b{number}",
        kind="failed" if choose_mark(result).text == "✗" else "skipped" if not result.ok else "measured",
        title=result.benchmark.title,
        badge="" if result.ok else result.outcome.words,
        figure=mark_throttled(format_median(main), throttled=result.throttled) if main else "",
        interval=f"{measured.interval}, {measured.basis}" if measured and measured.interval else "",
        cost=describe_origin(result),
        reason="" if result.ok else result.reason or "",
        pictures=[drawn for drawn in (picture, curve, profile, *stacks) if drawn is not None],
        tables=(),
        key=" ".join([*keys, *([EXPLANATION] if stacks else [])]),
        notes=_list_notes(result) if result.ok or not result.hint else (*_list_notes(result), _hint_of(result)),
        commands=_reproduce(result),
        stored=link_stored(result, run),
    )


def _draw_stacks(result: Result, name: str) -> Iterator[Picture]:
    for number, probe_pass in enumerate(result.probes):
        picture = draw_stacks(probe_pass, f"{name}-{number}")
        if picture is not None:
            yield picture


def _reproduce(result: Result) -> list[tuple[str, str]]:
    return [("measure exactly this again", result.reproduce)] if result.reproduce else []


def _reevaluate(result: Result, run: ReportedRun) -> list[tuple[str, str]]:
    return [("judge it again", format_reevaluate_command(run.place(result)))] if run.in_folders else []


def _list_notes(result: Result) -> tuple[Note, ...]:
    """Return the notes of a result and of its comparison, and why there is no command for one of a script."""
    if not result.benchmark.is_of_dictionary:
        return result.all_notes
    message = f"no command measures this again: {explain_missing_command(result)}"
    return (*result.all_notes, Note(code="no_command", message=message))


def _hint_of(result: Result) -> Note:
    return Note(code=result.outcome.value, message=result.outcome.words, hint=result.hint)


def _draw_devices(results: Sequence[Result]) -> Iterator[Picture]:
    by_device: dict[str, list[Result]] = {}
    for result in results:
        if result.device is not None:
            by_device.setdefault(result.device.identity, []).append(result)
    for number, group in enumerate(by_device.values()):
        if picture := draw_device(group, f"device{number}"):
            yield picture


def _titled_tables(*tables: TitledTable) -> Iterator[tuple[str, PageTable]]:
    for table in tables:
        if table.has_rows:
            yield table.heading, build_table(table.heading, table.columns)


def _format_period(results: Sequence[Result]) -> str:
    """Format the time from the first start to the last end; `unknown` where no calendar has one of them."""
    times = sorted(time for result in results for time in (result.started, result.finished))
    start, end = to_datetime(times[0]), to_datetime(times[-1])
    if start is None or end is None:
        return "unknown"
    end_text = f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{start:%Y-%m-%d %H:%M:%S} to {end_text} UTC"
