"""Self-checks on a terminal: a sentence for each device, then the table, then the remedies."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from harness.core.self_check import SelfCheck
from harness.display.documents import print_document
from harness.display.tables import fit_table, plain_text, print_output, style_line, widen
from harness.presentation.documents import SelfCheckDocument
from harness.presentation.self_check import (
    build_columns,
    conclude,
    describe_check,
    explain_columns,
    list_remedies,
)
from harness.presentation.text import Line, Span, Tone


def show(checks: Sequence[SelfCheck], console: Console, *, as_json: bool = False) -> None:
    """Show self-checks, or all about them as a JSON document."""
    if as_json:
        print_document(SelfCheckDocument(self_checks=tuple(checks)), console)
        return
    for check in checks:
        _show(check, console)


def _show(check: SelfCheck, console: Console) -> None:
    sensitivity = check.sensitivity
    if sensitivity is None:
        return
    conclusion = conclude(sensitivity)
    mark = Span("✓ ", Tone.GOOD) if conclusion.is_good else Span("✗ ", Tone.BAD)
    print_output(style_line(Line.of(mark, Span(describe_check(check), Tone.MUTED))), console)
    print_output(plain_text(f"{conclusion.text[:1].upper()}{conclusion.text[1:]}."), console)
    if sensitivity.benchmarks:
        print_output(Text(), console)
        print_output(fit_table(build_columns(sensitivity.benchmarks), widen(console)), console)
        for line in explain_columns(sensitivity.benchmarks):
            print_output(style_line(Line.of(Span(line, Tone.MUTED))), console)
    remedies = list(list_remedies(sensitivity))
    print_output(
        plain_text("What disturbs, the largest first:" if remedies else "Nothing that the device reports disturbed."),
        console,
    )
    for remedy in remedies:
        print_output(plain_text(f"  {remedy}"), console)
