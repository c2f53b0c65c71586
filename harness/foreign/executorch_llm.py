"""`executorch_llm`: logs of ExecuTorch's LLM runners, such as a phone's log with what an app around them wrote.

Statistics of each generation, as a JSON object with `inference_start_ms` in a line, or where there is none as a report
in sentences (`harness.formats.executorch_stats`). One record for all generations from prompts of the same length, with
a sample of each, in the order of the file. Logs name neither model nor device. Points in time are those of the device's
calendar clock, in milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.core.foreign import ForeignContent, ForeignProblem, ForeignRecord
from harness.core.generation import GENERATION
from harness.core.metric import Observation
from harness.core.outcome import Outcome
from harness.formats.executorch_stats import FIELDS, GenerationReport, compute_statistics, read_reports
from harness.formats.json_entries import MOST_ENTRIES, Amount, ForeignEntry, Placed, describe_places, parse_entry

_MARK: Final = '"inference_start_ms"'
_REPORT: Final = ("Prompt Tokens: ", "Generated Tokens: ", "(seconds)")
_CALENDAR_MS: Final = range(10**12, 7 * 10**12)
"""Milliseconds since 1970 of the years 2001 to 2191: other starts are arbitrary."""


class _Statistics(ForeignEntry):
    prompt_tokens: Amount = 0
    generated_tokens: Amount = 0
    model_load_start_ms: Amount = 0
    model_load_end_ms: Amount = 0
    inference_start_ms: Amount = 0
    token_encode_end_ms: Amount = 0
    prompt_eval_end_ms: Amount = 0
    first_token_ms: Amount = 0
    inference_end_ms: Amount = 0
    aggregate_sampling_time_ms: Amount = 0
    aggregate_model_execution_time_ms: Amount = 0


class ExecuTorchLlmFormat:
    """The format."""

    name = "executorch_llm"
    marks = "lines with `PyTorchObserver {... inference_start_ms ...}` or `Prompt Tokens: N    Generated Tokens: M`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether the words are there that no other format has."""
        return (_MARK in text and '"generated_tokens"' in text) or all(mark in text for mark in _REPORT)

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the log: one record for each length of prompts."""
        generations: list[GenerationReport] = []
        problems: list[ForeignProblem] = []
        for item in _read_statistics(text):
            if len(generations) + len(problems) >= MOST_ENTRIES:
                reason = f"more than {MOST_ENTRIES} generations; the rest is not read"
                problems.append(ForeignProblem(place="end", reason=reason))
                break
            if isinstance(item, ForeignProblem):
                problems.append(item)
            else:
                generations.append(item)
        if not generations and not problems:
            generations = [report for report, _ in zip(read_reports(text), range(MOST_ENTRIES), strict=False)]
        by_prompt: dict[float, list[GenerationReport]] = {}
        for generation in generations:
            by_prompt.setdefault(generation.fields.get("prompt_tokens", 0.0), []).append(generation)
        records = tuple(_build(int(length), group) for length, group in by_prompt.items())
        return ForeignContent(records=records, problems=tuple(problems))


def create() -> ExecuTorchLlmFormat:
    """Create the format."""
    return ExecuTorchLlmFormat()


def _read_statistics(text: str) -> Iterator[GenerationReport | ForeignProblem]:
    """Yield the statistics in each line that has some."""
    for number, line in enumerate(text.split("\n"), 1):
        mark = line.find(_MARK)
        if mark < 0:
            continue
        start, end = line.rfind("{", 0, mark), line.find("}", mark)
        try:
            value: object = json.loads(line[max(start, 0) : end + 1])
        except (ValueError, RecursionError):
            yield ForeignProblem(place=f"line {number}", reason="its statistics are no JSON object")
            continue
        entry = parse_entry(_Statistics, Placed(number, value))
        if isinstance(entry, ForeignProblem):
            yield entry
        else:
            yield GenerationReport(number, {field: float(getattr(entry, field)) for field in FIELDS})


def _build(prompt_tokens: int, generations: Sequence[GenerationReport]) -> ForeignRecord:
    samples: dict[tuple[str, str], list[float]] = {}
    for generation in generations:
        for figure in compute_statistics(generation.fields):
            samples.setdefault((figure.metric, figure.unit), []).append(figure.value)
    timed = any(unit != "tokens" for _, unit in samples)
    time = _find_time(generations[0].fields)
    return ForeignRecord(
        place=describe_places([f"line {generation.line}" for generation in generations]),
        entries=len(generations),
        model="unnamed",
        identifier=f"{prompt_tokens} prompt tokens",
        framework="executorch",
        axes={"prompt_tokens": prompt_tokens},
        time=time,
        time_note="" if time is not None else "which names none",
        observations=tuple(
            Observation(type=GENERATION, metric=metric, unit=unit, samples=tuple(values))
            for (metric, unit), values in samples.items()
        )
        if timed
        else (),
        count=len(next(iter(samples.values()))) if timed else None,
        outcome=Outcome.OK if timed else Outcome.FAILED,
        reason=None if timed else "the file has no figure of it: its points in time are 0 or go backwards",
    )


def _find_time(fields: Mapping[str, float]) -> float | None:
    start_ms = fields.get("inference_start_ms", 0.0)
    return start_ms / 1000 if int(start_ms) in _CALENDAR_MS else None
