"""A line of the `results.json` of MLPerf Client, and the figures that it gives.

One JSON object for each benchmark that ran, appended to `Logs/results.json` or to `results.json` in the folder that its
option for outputs names: the file may hold earlier runs. Its names have been the same from 0.5 to 2.0
(`src/CIL/benchmark_logger.cpp`, `BenchmarkResultToJson`, of mlcommons/mlperf_client):

    "Benchmark Success"   false where any part failed; then its figures are those of what ran before
    "overall_results"     "Geomean Time to First Token" (s) and "Geomean 2nd+ Token Generation Rate" (tokens/s): the
                          geometric means over the categories; null where the configuration is not tested by MLCommons,
                          or a category is missing
    "category_results"    by category of prompts the means over its prompts, called "Avg ...", and since 2.0 "Avg
                          Expected Duration" and "Avg Tools Duration" (s) of agents
    "Is Image Benchmark"  since 2.0: "Images Per Minute", "Steps Per Second", "Avg End-to-End Seconds"

Figures are rounded to three decimals (two of images). 0 stands for what was not measured, as the rate where too few
tokens were generated; a rate that is not finite is null. Both are absent here. Prompts are warmed up and repeated
("WarmUp", "Iterations") and averaged before anything is written. The start has the form `02-25-2025 17:38:15..269
+01:00` (`utils::GetDateTimeString`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, Field

from harness.core.scalars import Scalar
from harness.formats import MLPERF_CLIENT_SUCCESS
from harness.formats.json_entries import Amount, ForeignEntry, Text, Whole

TYPE: Final = "mlperf_client"
"""Type of its figures over all categories; those of one have its name behind a dot: `mlperf_client.code_analysis`."""

ROUNDING: Final = 0.000_5

_RATE: Final = "tokens/s"
_MOST_CATEGORIES: Final = 1_000
_LONGEST: Final = 1_000
"""Characters of an error message that are kept."""

_START: Final = re.compile(
    r"(\d\d)-(\d\d)-(\d{4}) (\d\d):(\d\d):(\d\d)\.{1,2}(\d{3})(?: ([+-])(\d\d):(\d\d))?", re.ASCII
)
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")


class PublishedFigure(NamedTuple):
    """One figure of a line.

    Attributes:
        type: `mlperf_client`, with the category if it is that of one.
        metric: Name of the metric.
        unit: Its unit.
        value: The mean that MLPerf Client published.
    """

    type: str
    metric: str
    unit: str
    value: float


class _Overall(ForeignEntry):
    first_token_s: Amount | None = Field(default=None, alias="Geomean Time to First Token")
    rate: Amount | None = Field(default=None, alias="Geomean 2nd+ Token Generation Rate")


class _Category(ForeignEntry):
    first_token_s: Amount | None = Field(default=None, alias="Avg Time to First Token")
    rate: Amount | None = Field(default=None, alias="Avg 2nd+ Token Generation Rate")
    duration_s: Amount | None = Field(default=None, alias="Avg Expected Duration")
    tools_s: Amount | None = Field(default=None, alias="Avg Tools Duration")


def _cut(value: object) -> object:
    return value[:_LONGEST] if isinstance(value, str) else value


class MlperfClientEntry(ForeignEntry):
    """Line of a results file. What a version does not write is empty or None.

    Attributes:
        success: Whether everything ran to its end.
        error: What failed, in its words.
        overall: Figures over all categories; None without any.
        categories: Figures of each category of prompts.
    """

    success: Annotated[bool, Field(strict=True)] = Field(alias=MLPERF_CLIENT_SUCCESS)
    version: Text = Field(default="", alias="BuildVer")
    config: Text = Field(default="", alias="Config")
    scenario: Text = Field(default="", alias="Scenario Name")
    model: Text = Field(default="", alias="Model Name")
    provider: Text = Field(default="", alias="Execution Provider Name")
    provider_options: dict[str, object] | None = Field(default=None, alias="EP Configuration")
    device_type: Text = Field(default="", alias="Device Type")
    iterations: Whole | None = Field(default=None, alias="Iterations")
    warmup: Whole | None = Field(default=None, alias="WarmUp")
    start: Text = Field(default="", alias="Benchmark Start Time")
    verified: bool | None = Field(default=None, alias="Results Verified")
    error: Annotated[str, BeforeValidator(_cut)] = Field(default="", alias="Error Message")
    overall: _Overall | None = Field(default=None, alias="overall_results")
    categories: Annotated[dict[Text, _Category | None], Field(max_length=_MOST_CATEGORIES)] | None = Field(
        default=None, alias="category_results"
    )
    images_per_minute: Amount | None = Field(default=None, alias="Images Per Minute")
    steps_per_second: Amount | None = Field(default=None, alias="Steps Per Second")
    image_s: Amount | None = Field(default=None, alias="Avg End-to-End Seconds")
    cpu: Text = Field(default="", alias="SysInfo_CPUModel")
    os: Text = Field(default="", alias="SysInfo_OSName")

    @property
    def configuration(self) -> str:
        """What was measured: figures of equal texts may stand in one row."""
        parts = (self.scenario, self.model, self.provider, self.device_type)
        options = json.dumps(dict(sorted(self.options.items()))) if self.options else ""
        return ", ".join(part for part in (*dict.fromkeys(parts), options) if part)

    @property
    def options(self) -> Mapping[str, Scalar]:
        """Options of the execution provider that are single values."""
        items = (self.provider_options or {}).items()
        return {name: value for name, value in items if isinstance(value, str | int | float) and len(str(value)) < 200}

    @property
    def time(self) -> float | None:
        """Unix seconds of its start; None where it cannot be read, or does not tell its time zone."""
        match = _START.fullmatch(self.start)
        if match is None or match[8] is None:
            return None
        month, day, year, hour, minute, second, millisecond = map(int, match.groups()[:7])
        ahead = timedelta(hours=int(match[9]), minutes=int(match[10])) * (-1 if match[8] == "-" else 1)
        try:
            start = datetime(year, month, day, hour, minute, second, millisecond * 1000, timezone(ahead))
        except ValueError:
            return None
        return start.astimezone(UTC).timestamp() if 1970 < year < 2200 else None

    @property
    def failure(self) -> str | None:
        """Why it has failed, by its own words; None where it has not."""
        if self.success:
            return None
        return f"MLPerf Client calls it failed: {self.error.strip() or 'it gives no reason'}"

    def figures(self) -> Iterator[PublishedFigure]:
        """Yield its figures, those over all categories first; none of a benchmark that failed."""
        if not self.success:
            return
        if self.overall is not None:
            yield from _figures(
                TYPE,
                ("decode_rate", _RATE, self.overall.rate),
                ("time_to_first_token", "s", self.overall.first_token_s),
            )
        yield from _figures(
            TYPE,
            ("image_rate", "images/s", (self.images_per_minute or 0.0) / 60),
            ("step_rate", "steps/s", self.steps_per_second),
            ("image_time", "s", self.image_s),
        )
        categories = self.categories or {}
        names = {category: _NO_NAME.sub("_", category.lower()).strip("_") for category in categories}
        shared = Counter(names.values())
        for category, figures in categories.items():
            if figures is None:
                continue
            name = names[category] if names[category] and shared[names[category]] == 1 else category
            yield from _figures(
                f"{TYPE}.{name}",
                ("decode_rate", _RATE, figures.rate),
                ("time_to_first_token", "s", figures.first_token_s),
                ("expected_duration", "s", figures.duration_s),
                ("tools_duration", "s", figures.tools_s),
            )


def _figures(type_: str, *figures: tuple[str, str, float | None]) -> Iterator[PublishedFigure]:
    for metric, unit, value in figures:
        if value:
            yield PublishedFigure(type_, metric, unit, value)
