"""`mlperf_client`: lines of `results.json` of MLPerf Client (`harness.formats.mlperf_client`).

One record for each line. Figures are means without samples; those over all categories are geometric means of the
categories' means. A line whose `Benchmark Success` is false is a failed record without figures.
"""

from __future__ import annotations

from harness.core.foreign import ForeignBuild, ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.outcome import Outcome
from harness.formats import MLPERF_CLIENT_SUCCESS
from harness.formats.json_entries import Placed, parse_entry, read_entries
from harness.formats.mlperf_client import ROUNDING, TYPE, MlperfClientEntry


class MlperfClientFormat:
    """The format."""

    name = "mlperf_client"
    marks = "lines of JSON with `Benchmark Success` and `category_results`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether the names that no other format has are there."""
        return f'"{MLPERF_CLIENT_SUCCESS}"' in text and '"Execution Provider Name"' in text

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the file: one record for each line."""
        entries, found = read_entries(text)
        problems = list(found)
        records = []
        for placed in entries:
            entry = parse_entry(MlperfClientEntry, placed)
            if isinstance(entry, ForeignProblem):
                problems.append(entry)
            else:
                records.append(_build(entry, placed))
        return ForeignContent(records=tuple(records), problems=tuple(problems))


def create() -> MlperfClientFormat:
    """Create the format."""
    return MlperfClientFormat()


def _build(entry: MlperfClientEntry, placed: Placed) -> ForeignRecord:
    figures = tuple(entry.figures())
    reason = entry.failure or (None if figures else "the file has no figure of it: all are 0 or missing")
    configuration = " ".join(filter(None, (entry.provider, entry.device_type)))
    meta = {
        "scenario": entry.scenario,
        "config": entry.config,
        "iterations": "" if entry.iterations is None else str(entry.iterations),
        "warmup": "" if entry.warmup is None else str(entry.warmup),
    }
    return ForeignRecord(
        place=placed.place,
        model=entry.model or entry.scenario or "unnamed",
        identifier=configuration or "unnamed",
        framework=TYPE,
        backend=entry.provider,
        axes={f"ep_{name}": value for name, value in entry.options.items()},
        device=ForeignDevice(name=entry.cpu, kind=entry.cpu, os=entry.os),
        build=ForeignBuild(source=TYPE, commit=entry.version) if entry.version else None,
        time=entry.time,
        time_note="" if entry.time is not None else "which names none that can be read",
        observations=tuple(
            Observation(type=figure.type, metric=figure.metric, unit=figure.unit, summary={"mean": figure.value})
            for figure in figures
        ),
        published=figures[0].value if figures else None,
        published_as="geometric mean of the means of its categories" if entry.overall is not None else "mean",
        rounding=ROUNDING,
        outcome=Outcome.FAILED if reason else Outcome.OK,
        reason=reason,
        notes=(_UNVERIFIED,) if entry.success and entry.verified is False else (),
        meta={name: value for name, value in meta.items() if value},
    )


_UNVERIFIED = Note(code="unverified", message="MLPerf Client expected other tokens than were generated")
