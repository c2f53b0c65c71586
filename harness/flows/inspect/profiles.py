"""Profiles on a terminal, as a JSON document and as a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.core.errors import EnvironmentProblem
from harness.core.metric import LATENCY, convert
from harness.core.program_graph import OperatorIdentity
from harness.core.result import Result, make_writable
from harness.display.documents import print_document
from harness.display.tables import fit_table, print_output, style_line, widen
from harness.files.atomic import write_atomically
from harness.flows.measure.profile import TRACED_ENDING, ProfiledResult
from harness.presentation.documents import ProfileDocument, ProfiledOperator, ProfileOfBenchmark
from harness.presentation.profiles import (
    ProfileReport,
    build_kinds_table,
    build_operators_table,
    describe_profile,
    list_doubts,
    summarise_profile,
)
from harness.presentation.text import Line, Span, Tone, make_printable

COLUMNS: Final = (
    *("model", "identifier", "device", "order", "operator", "kind", "median_us", "share", "cumulative_share"),
    *("delegate", "instruction", "module", "module_type", "exported", "node", "operators_of_nodes", "output"),
    *("source_file", "source_line", "source_code", "nodes_inside"),
)
"""Columns of the CSV file, one row for each operator."""


def show(profiled: Sequence[ProfiledResult], console: Console, *, verbose: bool, as_json: bool = False) -> None:
    """Show profiles: kinds of operators, with `verbose` each operator too; or all about them as a JSON document."""
    if as_json:
        print_document(ProfileDocument(profiles=tuple(map(describe, profiled))), console)
        return
    for each in profiled:
        report = describe_profile(each.operators, each.latency)
        print_output(style_line(Line.of(Span(_title(each.operators), Tone.STRONG))), console)
        if report is None:
            for line in _explain_absence(each.operators):
                print_output(style_line(Line.of(Span(line, Tone.WARNING))), console)
            continue
        _show_report(report, console, verbose=verbose)


def write_csv(profiled: Sequence[ProfiledResult], file: Path) -> int:
    """Write all operators into a CSV file, and return the number of its rows.

    Raises:
        EnvironmentProblem: It cannot be written.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    rows = [row for each in profiled for row in _rows(describe(each))]
    writer.writerows(rows)
    try:
        write_atomically(file, stream.getvalue().encode())
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {file}: {error.strerror or error}", hint="free disk space, or name another file"
        ) from error
    return len(rows)


def describe(profiled: ProfiledResult) -> ProfileOfBenchmark:
    """Return the profile of one benchmark as a document."""
    result = make_writable(profiled.operators)
    report = describe_profile(result, profiled.latency)
    order = {
        metric.type: place for place, metric in enumerate(metric for metric in result.metrics if metric.is_of_operator)
    }
    return ProfileOfBenchmark(
        model=result.benchmark.model,
        identifier=result.benchmark.identifier,
        device=result.device.identity if result.device is not None else None,
        outcome=result.outcome,
        reason=result.reason,
        latency_us=_latency_us(profiled.latency),
        traced_latency_us=_latency_us(result),
        overhead=report.overhead if report is not None else None,
        coverage=report.coverage if report is not None else None,
        operators=tuple(
            ProfiledOperator(
                name=row.name,
                kind=row.kind,
                order=order[row.name],
                median_us=row.median_us,
                share=row.share,
                cumulative_share=row.cumulative,
                delegate=row.delegate,
                identity=row.identity,
            )
            for row in (report.operators if report is not None else ())
        ),
    )


def _show_report(report: ProfileReport, console: Console, *, verbose: bool) -> None:
    print_output(fit_table(build_kinds_table(report), widen(console)), console)
    if verbose:
        print_output(Text(), console)
        print_output(fit_table(build_operators_table(report), widen(console)), console)
    for sentence in summarise_profile(report):
        print_output(style_line(Line.of(Span(sentence, Tone.MUTED))), console)
    for doubt in list_doubts(report):
        print_output(style_line(Line.of(Span(doubt, Tone.WARNING))), console)
    print_output(Text(), console)


def _title(result: Result) -> str:
    name = result.benchmark.title.removesuffix(TRACED_ENDING)
    device = f" on {result.device.name}" if result.device is not None else ""
    return make_printable(f"{name}{device}")


def _explain_absence(result: Result) -> Iterator[str]:
    yield make_printable(f"{result.outcome.words}: {result.reason or ''}".rstrip(": "))
    if result.hint:
        yield make_printable(f"  hint: {result.hint}")


def _latency_us(result: Result | None) -> float | None:
    metric = result.metric(LATENCY) if result is not None else None
    return None if metric is None or metric.median is None else convert(metric.median, metric.unit, "us")


def _rows(profile: ProfileOfBenchmark) -> Iterator[Mapping[str, object]]:
    for operator in profile.operators:
        yield {
            "model": profile.model,
            "identifier": profile.identifier,
            "device": profile.device or "",
            "order": operator.order,
            "operator": operator.name,
            "kind": operator.kind,
            "median_us": round(operator.median_us, 4),
            "share": round(operator.share, 6),
            "cumulative_share": round(operator.cumulative_share, 6),
            "delegate": operator.delegate or "",
            **_identity_columns(operator.identity),
        }


def _identity_columns(identity: OperatorIdentity | None) -> Mapping[str, object]:
    if identity is None:
        return {}
    node = identity.main_node
    columns: dict[str, object] = {"instruction": identity.instruction, "nodes_inside": identity.nodes_inside}
    if node is None:
        return columns
    source = node.source
    return {
        **columns,
        "module": node.module,
        "module_type": node.module_type,
        "exported": node.exported,
        "node": " ".join(each.name for each in identity.nodes),
        "operators_of_nodes": " ".join(each.operator for each in identity.nodes),
        "output": node.output,
        "source_file": source.file if source is not None else "",
        "source_line": source.line if source is not None else "",
        "source_code": source.code if source is not None else "",
    }
