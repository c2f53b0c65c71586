"""Reports of alarms: from what a watcher knows to a page that a person reads. Delivered like any other letter."""

from __future__ import annotations

import json
import math
import shlex
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic import JsonValue

import harness
from harness.config.settings import Settings
from harness.core import culprit as core_culprit
from harness.core.alarm import (
    AlarmEvent,
    AlarmReport,
    Candidate,
    ChangedOperator,
    Culprit,
    Discovery,
    Effect,
    MeasuredCommit,
    Search,
    Verification,
)
from harness.core.commit import Commit, Source
from harness.core.comparison import Comparison
from harness.core.device import DEFAULT_PLATFORM
from harness.core.effect import relative_change as relative
from harness.core.errors import HarnessError
from harness.core.trend import ChangeKind
from harness.flows.compare.requests import CompareRequest
from harness.watch.notify.channels import DeliveryFailed
from harness.watch.store.records import Alarm, Document, Event, News
from harness.watch.store.state import State
from reporters.alarms.folder import write

_EVENTS = {
    Event.CONFIRMED: AlarmEvent.CONFIRMED,
    Event.BISECTED: AlarmEvent.BISECTED,
    Event.CLOSED: AlarmEvent.CLOSED,
}


class AlarmReports:
    """Writes a page for each alarm (`harness.watch.notify.channels.Courier`).

    Args:
        state: Knows the series.
        source: Knows the commits.
        request: What was asked to be compared.
        settings: What was asked to be measured, and where results are.
    """

    name = "report"

    def __init__(self, state: State, source: Source, request: CompareRequest, settings: Settings) -> None:
        self._state = state
        self._source = source
        self._request = request
        self._settings = settings

    @property
    def folder(self) -> Path:
        """Where reports are."""
        return self._settings.local_reporter / "alarms"

    def deliver(self, news: News) -> str:
        """Write the page anew.

        Raises:
            DeliveryFailed: The commits cannot be read, or the disk refuses.
        """
        try:
            return str(write(self._report(news), self.folder))
        except HarnessError as error:
            raise DeliveryFailed(error.message) from error

    def _report(self, news: News) -> AlarmReport:
        alarm, document = news.alarm, news.alarm.document
        sign = alarm.sign
        said = _part(document, "confirmation")
        verified = _part(said, "document")
        comparison = _comparison(verified)
        return AlarmReport(
            identity=sign.identity,
            event=_EVENTS[news.event],
            kind=ChangeKind(sign.kind),
            title=str(document.get("title", sign.benchmark)),
            device=sign.device,
            device_name=str(verified.get("device") or sign.device),
            metric=sign.metric,
            unit=str(verified.get("unit", "")),
            higher_is_better=comparison is not None and comparison.higher_is_better,
            change=_effect(document.get("size"), document.get("low"), document.get("high")) or Effect(difference=0.0),
            before=self._source.resolve(sign.first),
            candidates=tuple(self._candidates(alarm)),
            verification=None if comparison is None else _verification(comparison, verified),
            search=self._searched(_part(document, "search")),
            why=alarm.why,
            series=tuple(self._series(alarm)),
            operators=tuple(_operators(verified)),
            command=self._command(alarm, str(verified.get("platform") or self._settings.platform)),
            discovery=Discovery(time=alarm.opened, harness=harness.__version__, host=socket.gethostname()),
            results=(str(self._settings.local_reporter.resolve()),),
        )

    def _candidates(self, alarm: Alarm) -> Iterator[Candidate]:
        searched = _part(alarm.document, "search").get("commits")
        if isinstance(searched, list):
            for entry in searched:
                known = cast("dict[str, JsonValue]", entry)
                yield Candidate(
                    commit=Commit.model_validate({name: known[name] for name in Commit.model_fields}),
                    builds=bool(known["builds"]),
                    probability=_bounded(known["probability"]),
                )
            return
        before, after = self._source.resolve(alarm.sign.first), self._source.resolve(alarm.sign.last)
        for commit in self._source.between(before, after):
            yield Candidate(commit=commit)

    def _searched(self, document: Document) -> Search | None:
        found = document.get("finding")
        if found is None:
            return None
        finding = core_culprit.SearchResult.model_validate(found)
        return Search(
            reason=finding.reason,
            culprits=tuple(self._culprit(one) for one in finding.culprits),
            rest=None if finding.unexplained_log_ratio is None else relative(finding.unexplained_log_ratio),
            pairs=finding.pairs,
        )

    def _culprit(self, found: core_culprit.Culprit) -> Culprit:
        return Culprit(
            commits=tuple(self._source.resolve(commit) for commit in found.commits),
            step=Effect(
                difference=found.effect.relative_change,
                low=found.effect.low_relative_change,
                high=found.effect.high_relative_change,
            ),
            evidence=found.evidence,
            probability=_bounded(found.probability),
            confirmed=found.confirmed,
        )

    def _series(self, alarm: Alarm) -> Iterator[MeasuredCommit]:
        sign = alarm.sign
        for placed in self._state.points.series(sign.benchmark, sign.device, sign.metric).points:
            point = placed.point
            ratio = point.log_ratio
            yield MeasuredCommit(
                commit=_short(placed.commit),
                order=placed.position,
                control=_short(point.control),
                effect=None if ratio is None else _of_logs(ratio, point.low, point.high, exact=point.error is None),
                verdict=point.verdict,
            )

    def _command(self, alarm: Alarm, platform: str) -> str:
        """What measures the change again on its device, wherever it is typed."""
        files = [str(file.resolve()) for file in self._settings.benchmark_file]
        sign, title = alarm.sign, str(alarm.document.get("title", ""))
        words = ["harness", "compare", "-b", *files, "--source", self._source.name, "--control", sign.first]
        words += ["--treatment", sign.last, "--only", title, *measured(self._request, self._settings)]
        if platform != DEFAULT_PLATFORM:
            words += ["-p", platform, "-d", sign.device]
        return shlex.join(words)


def measured(request: CompareRequest, settings: Settings) -> Iterator[str]:
    """The flags that say how runners are built and what is measured of them, as far as they were given."""
    said = {
        "--frameworks_dir": [str(folder.resolve()) for folder in request.recipes],
        "--metric": [request.metric] if request.metric else [],
        "--framework": [settings.framework] if settings.framework else [],
        "--root_model_dir": [str(settings.root_model_dir.resolve())] if settings.root_model_dir else [],
        "--string_map": [json.dumps(settings.string_map)] if settings.string_map else [],
        "--env": [f"{name}={value}" for name, value in settings.env.items()],
    }
    for flag, values in said.items():
        yield from (flag, *values) if values else ()
    if settings.command_args:
        yield f"--command_args={settings.command_args}"


def _part(document: Mapping[str, JsonValue], name: str) -> Document:
    """A member that is an object; an empty one where there is none."""
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _comparison(verified: Document) -> Comparison | None:
    stored = verified.get("comparison")
    return None if stored is None else Comparison.model_validate(stored)


def _verification(comparison: Comparison, verified: Document) -> Verification:
    pairs = verified.get("pairs")
    return Verification(
        verdict=comparison.effective_verdict,
        effect=_effect(comparison.difference, comparison.low, comparison.high),
        pairs=pairs if isinstance(pairs, int) else 0,
        seconds=comparison.seconds,
    )


def _operators(verified: Document) -> Iterator[ChangedOperator]:
    listed = verified.get("operators")
    for one in listed if isinstance(listed, list) else ():
        found = one if isinstance(one, dict) else {}
        contribution = found.get("contribution")
        yield ChangedOperator(
            name=str(found.get("name")),
            effect=_effect(found.get("difference"), found.get("low"), found.get("high")),
            contribution=contribution if isinstance(contribution, int | float) else None,
        )


def _effect(difference: object, low: object, high: object) -> Effect | None:
    if not isinstance(difference, int | float):
        return None
    ends = [end if isinstance(end, int | float) else None for end in (low, high)]
    return Effect(difference=max(float(difference), -1.0), low=ends[0], high=ends[1])


def _of_logs(ratio: float, low: float | None, high: float | None, *, exact: bool) -> Effect:
    if exact:
        return Effect(difference=relative(ratio), low=relative(ratio), high=relative(ratio))
    ends = [None if end is None or not math.isfinite(end) else relative(end) for end in (low, high)]
    return Effect(difference=relative(ratio), low=ends[0], high=ends[1])


def _bounded(probability: object) -> float:
    return min(1.0, max(0.0, float(probability))) if isinstance(probability, int | float) else 0.0


def _short(commit: str) -> str:
    return commit[:12] if len(commit) >= 40 else commit
