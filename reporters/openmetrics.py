"""`--reporter openmetrics=FILE.prom`: OpenMetrics text, such as Prometheus's collector of text files takes.

One gauge for each metric, in seconds and bytes, with the ends of its interval; `harness_result_ok` is 0 for each
benchmark that failed. Outcomes and commits are labels of `harness_result_info` only, so that they split no series.
There are no timestamps, and nothing but gauges: collectors of files refuse timestamps and the type `info`.
The text follows the specification of OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.config.settings import Settings
from harness.core.result import Result
from harness.presentation.text import make_printable
from reporters.exports.figures import ExportedFigure, Omissions, fixed_unit, select_figures, shorten
from reporters.exports.reporter import ExportedRun, ExportReporter, create_export_reporter

_OTHER: Final = re.compile(r"[^a-z0-9]+")
_UNITS: Final = {"s": "seconds", "j": "joules", "w": "watts", "%": "percent", "tokens/s": "tokens_per_second"}


@dataclass(slots=True)
class _Family:
    """Samples of one name.

    Attributes:
        name: Name, with the unit at its end.
        unit: Unit; empty if there is none.
        help: What it is, for people.
        samples: Value by labels.
    """

    name: str
    unit: str
    help: str
    samples: dict[str, float] = field(default_factory=dict)

    def render(self) -> Iterator[str]:
        """Yield its lines."""
        yield f"# TYPE {self.name} gauge"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {_escape(self.help)}"
        for labels, value in self.samples.items():
            yield f"{self.name}{{{labels}}} {value!r}"


def create(settings: Settings) -> ExportReporter | None:
    """Create the reporter where `--reporter openmetrics=FILE.prom` asks for it."""
    return create_export_reporter("openmetrics", settings, render)


def render(results: Sequence[Result]) -> ExportedRun:
    """Render results; of several of one benchmark on one device the last stays."""
    omissions = Omissions()
    latest: dict[str, Result] = {}
    for result in results:
        key = _format(_labels(result))
        if latest.pop(key, None) is not None:
            omissions.add("repeated result")
        latest[key] = result
    good = _Family("harness_result_ok", "", "1 if the benchmark has numbers, 0 if it failed or was skipped.")
    trusted = _Family("harness_result_trusted", "", "1 if it has numbers and nothing speaks against them.")
    facts = _Family("harness_result_info", "", "How the benchmark ended, and what was measured.")
    for labels, result in latest.items():
        good.samples[labels] = float(result.ok)
        trusted.samples[labels] = float(result.trusted)
        facts.samples[_format(_labels(result) | _describe(result))] = 1.0
    families: dict[str, _Family] = {}
    for figure in select_figures(tuple(latest.values()), omissions, failures=True):
        _add(figure, families, omissions)
    lines = [
        line for family in (good, trusted, facts, *families.values()) if family.samples for line in family.render()
    ]
    return ExportedRun(("\n".join([*lines, "# EOF", ""]),), omissions.describe())


def _add(figure: ExportedFigure, families: dict[str, _Family], omissions: Omissions) -> None:
    factor, unit = fixed_unit(figure.metric.unit, "s")
    numbers = figure.scaled(factor)
    if numbers is None:
        omissions.add("figure that is too large", "figures that are too large")
        return
    unit = _UNITS.get(unit.lower(), _make_name(unit))
    name = "_".join(filter(None, ("harness_metric", _make_name(figure.metric.name), unit)))
    help_text = f"{make_printable(figure.metric.name)}, with the interval over launches where it is known."
    family = families.setdefault(name, _Family(name, unit, shorten(help_text)))
    labels = _labels(figure.result) | {"metric": figure.metric.name}
    for statistic, number in zip((figure.statistic, "low", "high"), numbers, strict=True):
        if number is not None:
            family.samples[_format(labels | {"statistic": statistic})] = number


def _labels(result: Result) -> dict[str, str]:
    """Return what tells a series from others."""
    benchmark, device = result.benchmark, result.device
    return {
        "model": benchmark.model,
        "benchmark": benchmark.identifier,
        "framework": benchmark.framework,
        "backend": result.backend,
        "device": "" if device is None else device.name,
        "device_identity": "" if device is None else device.identity,
        "origin": "" if result.origin is None else result.origin.format,
    }


def _describe(result: Result) -> dict[str, str]:
    """Return what merely informs."""
    build, origin = result.build, result.origin
    return {
        "outcome": result.outcome.value,
        "reason": result.reason or "",
        "source": "" if build is None else build.source,
        "commit": "" if build is None else build.commit,
        "measured": "here" if origin is None else origin.words,
        "harness_version": result.harness_version,
        "uid": result.uid,
    }


def _make_name(text: str) -> str:
    """Return a part of a metric's name: small letters, digits and underscores between them."""
    return shorten(_OTHER.sub("_", text.lower()).strip("_")).replace("…", "_")


def _format(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escape(shorten(make_printable(value)))}"' for name, value in labels.items() if value)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
