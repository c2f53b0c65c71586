"""Evaluations as tables: one row per result, one per stage of its model, and the layers where the gap opens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from harness.core.evaluation import Evaluation, LayerGap, StageEvaluation, Statistic
from harness.core.examples import Stage
from harness.core.metric import main_metric
from harness.core.result import Result
from harness.presentation.numbers import format_median, format_number, format_precision, format_quantity
from harness.presentation.pareto import ACCURACY, find_dominated, find_rankable, group_rivals, program_size
from harness.presentation.remarks import choose_mark
from harness.presentation.tables import KEEP, Column
from harness.presentation.text import Line, Span, Tone, make_printable

LAYERS: Final = 8
"""Layers that a terminal lists for each result; pages show all."""

_SHARES: Final = frozenset({"top1_agreement", "top5_agreement", "top1_accuracy", "top5_accuracy"})
_HEADINGS: Final = {
    "sqnr": "SQNR",
    "cosine_similarity": "cosine",
    "relative_l2_error": "relative L2",
    "max_absolute_error": "max error",
    "mean_absolute_error": "mean error",
    "kl_divergence": "KL",
    "cross_entropy": "cross entropy",
    "top1_agreement": "top-1 agreement",
    "top5_agreement": "top-5 agreement",
    "top1_accuracy": "accuracy",
    "top5_accuracy": "top-5 accuracy",
}
"""Headings of the statistics, in the order of columns."""
_WEIGHTS: Final = {
    "cross entropy": 10,
    "mean error": 20,
    "top-5 agreement": 25,
    "top-5 accuracy": 26,
    "KL": 30,
    "relative L2": 40,
    "max error": 50,
    "cosine": 60,
    "n": 70,
}
"""Weights of those columns of stages that make room for others."""
_WITH_INTERVAL: Final = frozenset({"sqnr", "top1_agreement", "top1_accuracy"})
"""Statistics that tables show with their interval; the result has all intervals."""
_OVERVIEW: Final = ("sqnr", "cosine_similarity", "max_absolute_error", "top1_agreement", "top1_accuracy")
_NEEDING: Final = {"top1_accuracy_difference": "a change in accuracy", "top1_agreement": "top-1 agreement"}
"""Figures of which one point is asked for, the one that matters most first."""
_MEANINGS: Final = {
    "SQNR": "signal-to-quantisation-noise ratio against the eager model, higher is better",
    "cosine": "similarity of the outputs' directions, 1 is equal",
    "max error": "largest absolute difference of any output",
    "top-1 agreement": "examples with the same first class",
    "accuracy": "examples with the right first class",
    "pareto": "best: nothing else is at least as good in speed, size and outputs: in accuracy, else in SQNR",
}


def build_evaluation_table(results: Sequence[Result]) -> list[Column]:
    """Build the table with one row per evaluated result: latency, size and what lowering did to its outputs."""
    compromises = find_rankable(results)
    dominated = find_dominated(compromises)
    groups = group_rivals(compromises)
    ranked = {compromise.result.uid for group in groups if len(group) > 1 for compromise in group}
    mains = [main_metric(result.metrics) for result in results]
    columns = [
        Column("", [choose_mark(result) for result in results]),
        Column("model", [_cell(result.benchmark.model) for result in results], distinguishing=True),
        Column("benchmark", [_cell(result.benchmark.identifier) for result in results]),
        Column(
            "device", [_cell(result.device.name if result.device else "") for result in results], distinguishing=True
        ),
        Column("backend", [_cell(result.backend) for result in results], weight=10, distinguishing=True),
        Column("latency", [Span(format_median(main) if main else "") for main in mains], right=True),
        Column("±", [Span(format_precision(main.precision) if main else "") for main in mains], weight=40, right=True),
        Column(
            "size", [Span(format_quantity(program_size(result), "bytes")) for result in results], weight=45, right=True
        ),
    ]
    columns += [
        Column(
            _HEADINGS[name],
            [_overview_cell(result, name) for result in results],
            weight=_WEIGHTS.get(_HEADINGS[name], KEEP),
            right=True,
        )
        for name in _OVERVIEW
    ]
    pareto = [_pareto_cell(result, ranked, dominated) for result in results]
    return [*columns, Column("pareto", pareto)]


def format_evaluation_legend(headings: Sequence[str]) -> str:
    """Explain the headings of the table."""
    return " · ".join(f"{name}: {meaning}" for name, meaning in _MEANINGS.items() if name in headings)


def build_stage_table(results: Sequence[Result]) -> list[Column]:
    """Build the table of the stages of each result; a benchmark is named in its first row only."""
    rows: list[tuple[Span, ...]] = []
    for result in results:
        title = make_printable(result.benchmark.identifier)
        for stage in result.evaluation.stages if result.evaluation is not None else ():
            if stage.stage is stage.reference and not (stage.statistic(ACCURACY) or stage.is_faulty):
                continue  # the eager model without labels, of which there is nothing to tell
            rows.append((Span(title), *_stage_cells(stage)))
            title = ""
    names = ("benchmark", "stage", "against", "n", *_HEADINGS.values(), "McNemar p", "faults")
    return [
        Column(name, [row[number] for row in rows], weight=_WEIGHTS.get(name, KEEP), right=number > 2)
        for number, name in enumerate(names)
    ]


def build_layer_table(results: Sequence[Result], at_most: int | None = LAYERS) -> list[Column]:
    """Build the table of the layers with the largest gaps, in the order of execution."""
    rows: list[tuple[Span, ...]] = []
    for result in results:
        title = make_printable(result.benchmark.identifier)
        for layer in select_layers(result.evaluation, at_most) if result.evaluation is not None else ():
            rows.append((Span(title), *_layer_cells(layer)))
            title = ""
    names = ("benchmark", "layer", "operator", "module", "source", "delegate", "stage", "SQNR", "max error")
    return [Column(name, [row[number] for row in rows], right=number > 6) for number, name in enumerate(names)]


def select_layers(evaluation: Evaluation, at_most: int | None) -> list[LayerGap]:
    """Return the layers with the lowest signal-to-noise ratio, in the order of execution."""
    known = [layer for layer in evaluation.layers if layer.sqnr_db is not None]
    worst = sorted(known, key=lambda layer: layer.sqnr_db or 0.0)[:at_most]
    return [layer for layer in evaluation.layers if layer in worst]


def describe_evaluations(results: Sequence[Result]) -> Iterator[Line]:
    """Yield what a reader must know about each evaluation: its examples, faults, and how much they can tell."""
    told: set[str] = set()
    for result in results:
        evaluation = result.evaluation
        if evaluation is None:
            continue
        data = evaluation.data
        if data.digest not in told:
            told.add(data.digest)
            labelled = "with labels" if data.is_labelled else "without labels"
            yield Line.of(f"{data.examples} examples {labelled}: {make_printable(data.description)}")
        name = Span(make_printable(result.benchmark.identifier), Tone.STRONG)
        for stage in evaluation.stages:
            if fault := make_printable(stage.fault):
                yield Line.of(Span("✗ ", Tone.BAD), name, f": {stage.stage}: {fault}")
        if (measured := evaluation.measured) and (change := describe_accuracy_change(measured)):
            yield Line.of(Span("· ", Tone.MUTED), name, f": {change}")
    yield from _fold_notes(results)
    yield from _describe_needs(results)


def describe_accuracy_change(stage: StageEvaluation) -> str:
    """Return in words what a stage gained or lost in accuracy, and what McNemar's test says; empty without labels."""
    difference, test = stage.statistic("top1_accuracy_difference"), stage.mcnemar
    if difference is None or difference.value is None or test is None:
        return ""
    if test.p_value <= 1 - difference.confidence:
        verdict = f"{'worse' if difference.value < 0 else 'better'} than {stage.reference} (McNemar's test"
    else:
        verdict = f"no difference to {stage.reference} is shown (McNemar's test"
    text = f"{100 * difference.value:+.3g} points"
    ends = (difference.low, difference.high)
    return (
        f"accuracy of {stage.stage} {_with_ends(text, ends, lambda end: f'{100 * end:+.3g}')}: {verdict}, "
        f"p = {format_number(test.p_value)}: {test.reference_only} examples lost, {test.stage_only} gained)"
    )


def _describe_needs(results: Sequence[Result]) -> Iterator[Line]:
    """Yield how many examples would tell one point of a change in accuracy, else of agreement, a line per figure."""
    needs: dict[str, list[int]] = {}
    for result in results:
        if result.evaluation is not None and (need := _needed_examples(result.evaluation)) is not None:
            needs.setdefault(need[0], []).append(need[1])
    for heading, counts in needs.items():
        counted = " to ".join(f"{count:,}" for count in dict.fromkeys((min(counts), max(counts))))
        yield Line.of(Span("· ", Tone.MUTED), f"about {counted} examples would tell one point of {heading}")


def _fold_notes(results: Sequence[Result]) -> Iterator[Line]:
    """Yield each remark on the stages once, with the benchmarks that it is about."""
    about: dict[str, dict[str, None]] = {}
    for result in results:
        evaluation = result.evaluation
        if evaluation is None:
            continue
        # What is said of the eager model holds whatever is compared with it.
        stages = [stage for stage in evaluation.stages if stage.reference is Stage.EAGER] or evaluation.stages
        messages = [note.message for stage in stages for note in stage.notes]
        messages += [evaluation.layers_unavailable] if evaluation.layers_unavailable else []
        messages += evaluation.layers_notes
        for message in messages:
            about.setdefault(make_printable(message), {})[make_printable(result.benchmark.identifier)] = None
    for message, names in about.items():
        who = f"{len(names)} of {len(results)}" if len(names) > 1 else next(iter(names))
        yield Line.of(Span("· ", Tone.MUTED), Span(who, Tone.STRONG), f": {message}")


def format_statistic(statistic: Statistic | None, *, interval: bool = True) -> str:
    """Format an estimate with its interval: `17.9 dB [17.1, 18.6]`, `89 % [78, 96]`; empty where there is none."""
    if statistic is None:
        return ""
    if statistic.value is None:
        return statistic.reason or ""
    ends = (statistic.low, statistic.high) if interval else (None, None)
    if statistic.name in _SHARES:
        return _with_ends(f"{100 * statistic.value:.3g} %", ends, lambda end: f"{100 * end:.3g}")
    if statistic.name == "cosine_similarity":
        return _with_ends(f"{statistic.value:.4f}", ends, lambda end: f"{end:.4f}")
    text = f"{format_number(statistic.value)} {statistic.unit}".rstrip()
    return _with_ends(text, ends, format_number)


def _with_ends(text: str, ends: tuple[float | None, float | None], format_end: Callable[[float], str]) -> str:
    low, high = ends
    if low is None or high is None:
        return text
    return f"{text} [{format_end(low)}, {format_end(high)}]"


def _overview_cell(result: Result, name: str) -> Span:
    measured = result.evaluation.measured if result.evaluation is not None else None
    if measured is None:
        return Span("")
    if measured.is_faulty:
        return Span(make_printable(measured.fault) if name == _OVERVIEW[0] else "", Tone.BAD)
    return Span(format_statistic(measured.statistic(name), interval=name in _WITH_INTERVAL))


def _pareto_cell(result: Result, ranked: set[str], dominated: dict[str, Result]) -> Span:
    if result.uid not in ranked:
        return Span("")
    better = dominated.get(result.uid)
    if better is None:
        return Span("best", Tone.GOOD)
    return Span(f"worse than {make_printable(better.benchmark.identifier)}", Tone.MUTED)


def _stage_cells(stage: StageEvaluation) -> tuple[Span, ...]:
    against = "" if stage.stage is stage.reference else str(stage.reference)
    figures = [Span(format_statistic(stage.statistic(name), interval=name in _WITH_INTERVAL)) for name in _HEADINGS]
    p_value = "" if stage.mcnemar is None else format_number(stage.mcnemar.p_value)
    name = f"{stage.stage} {stage.output}".rstrip()
    return (
        _cell(name),
        Span(against),
        Span(str(stage.examples)),
        *figures,
        Span(p_value),
        Span(make_printable(stage.fault), Tone.BAD),
    )


def _layer_cells(layer: LayerGap) -> tuple[Span, ...]:
    texts = (layer.name, layer.operator, layer.module, layer.source, layer.delegate, str(layer.stage))
    figures = (f"{format_number(layer.sqnr_db)} dB", format_number(layer.max_absolute_error))
    return (*map(_cell, texts), *map(Span, figures))


def _needed_examples(evaluation: Evaluation) -> tuple[str, int] | None:
    """Return a figure and how many examples would tell one point of it; None where there are enough, or none can."""
    stage = evaluation.measured or next((item for item in evaluation.stages if item.stage is not Stage.EAGER), None)
    if stage is None or stage.is_faulty:
        return None
    for name, heading in _NEEDING.items():
        figure = stage.statistic(name)
        if figure is not None and figure.examples_for_a_point:
            needed = figure.examples_for_a_point
            return (heading, needed) if needed > figure.examples else None
    return None


def _cell(text: str) -> Span:
    return Span(make_printable(text))
