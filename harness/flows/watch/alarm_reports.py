"""Reports of alarms: from the state of a watcher to a page that a person reads, delivered like any notification."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import harness
from harness.config.settings import Settings
from harness.core import DEFAULT_PLATFORM
from harness.core.alarm import Alarm, AlarmOrigin, AlarmReport
from harness.core.change import Change
from harness.core.commit import PublishedSource, Source
from harness.core.culprit import Candidate
from harness.core.errors import HarnessError
from harness.core.protocols import AlarmReporter
from harness.core.series import SeriesKey
from harness.flows.compare.requests import CompareRequest
from harness.presentation.repository_links import diff_url, fill_diff_url, web_address
from harness.shell import Interrupted
from harness.store.index import find_result
from harness.watch.notify.channels import DeliveryFailed
from harness.watch.store.notifications import Notification
from harness.watch.store.state import State


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Addresses that the user names for links.

    Attributes:
        results_url: Address under which others see the folder of results; empty where there is none.
        diff_url: Address of the difference between two commits, with `{before}` and `{after}`; empty for that which
            the remote's URL gives.
    """

    results_url: str = ""
    diff_url: str = ""


@dataclass(frozen=True, slots=True)
class AlarmReportChannel:
    """Has a reporter of alarms write a report for each notification (`harness.watch.notify.channels.Channel`).

    Attributes:
        reporter: Writes the reports.
        state: Contains the series.
        source: Source of the commits.
        request: What is compared.
        settings: What is measured, and where results are.
        links: Addresses that the user names for links.
    """

    reporter: AlarmReporter
    state: State
    source: Source
    request: CompareRequest
    settings: Settings
    links: LinkSettings = LinkSettings()

    @property
    def name(self) -> str:
        """Name of the channel: that of the reporter."""
        return self.reporter.name

    def deliver(self, notification: Notification) -> str:
        """Write the report of an alarm in place of an earlier one.

        Raises:
            DeliveryFailed: The commits cannot be read, or the report cannot be written.
        """
        try:
            return self.reporter.report(self.report_of(notification))
        except Interrupted:
            raise
        except HarnessError as error:
            raise DeliveryFailed(error.message) from error
        except Exception as error:  # a third party's reporter must not stop the watcher
            raise DeliveryFailed(f"alarm reporter {self.name} is broken: {type(error).__name__}: {error}") from error

    def report_of(self, notification: Notification) -> AlarmReport:
        """Return the report of an alarm as it was when something happened.

        Raises:
            HarnessError: Its commits cannot be read.
        """
        alarm = notification.alarm
        change, verification = alarm.change, alarm.verification
        size = alarm.size
        key = SeriesKey(benchmark=change.benchmark, device=change.device, metric=change.metric.name)
        platform = verification.platform if verification is not None else ""
        series = self.state.points.series(key)
        if not change.metric.unit and series.metric is not None:
            metric = change.metric.model_copy(update={"unit": series.metric.unit})
            alarm = alarm.model_copy(update={"change": change.model_copy(update={"metric": metric})})
        return AlarmReport(
            event=notification.event,
            alarm=alarm if alarm.candidates else self._with_candidates(alarm),
            device_name=(verification.device_name if verification is not None else "") or change.device,
            before=self.source.resolve(change.last_without),
            series=series.points,
            command=self.command(change, platform or self.settings.platform),
            discovery=AlarmOrigin(time=alarm.opened, harness=harness.__version__, host=socket.gethostname()),
            results=self._results(alarm),
            results_url=self.links.results_url,
            repository=self.repository,
            diff_url=self._diff_url(size.before, size.after),
        )

    def _results(self, alarm: Alarm) -> tuple[str, ...]:
        """Return the result of the verification, which describes both builds, relative to the folder of results."""
        uid = alarm.verification.result if alarm.verification is not None else ""
        place = find_result(self.settings.local_reporter, uid)
        return () if place is None else (place,)

    @property
    def repository(self) -> str:
        """Return the address of the repository's pages; empty where the source has none."""
        if not isinstance(self.source, PublishedSource):
            return ""
        return web_address(self.source.remote_url() or "")

    def _diff_url(self, before: str, after: str) -> str:
        template = self.links.diff_url
        return fill_diff_url(template, before, after) if template else diff_url(self.repository, before, after)

    def _with_candidates(self, alarm: Alarm) -> Alarm:
        """Add the commits in question to an alarm that was not searched."""
        change = alarm.change
        before, after = self.source.resolve(change.last_without), self.source.resolve(change.first_with)
        candidates = tuple(Candidate(commit=commit) for commit in self.source.between(before, after))
        return alarm.model_copy(update={"candidates": candidates})

    def command(self, change: Change, platform: str) -> str:
        """Return the command that measures a change again on its device, wherever it is typed."""
        files = [str(file.resolve()) for file in self.settings.benchmark_file]
        words = ["harness", "compare", "-b", *files, "--source", self.source.name]
        words += ["--control", change.last_without, "--treatment", change.first_with, "--only", change.title]
        words += measuring_flags(self.request, self.settings)
        if platform != DEFAULT_PLATFORM:
            words += ["-p", platform, "-d", change.device]
        return shlex.join(words)


def measuring_flags(request: CompareRequest, settings: Settings) -> Iterator[str]:
    """Yield the flags that say how runners are built and what is measured of them, as far as they were given."""
    flags = {
        "--frameworks-dir": [str(folder.resolve()) for folder in request.recipes],
        "--metric": [request.metric] if request.metric else [],
        "--framework": [settings.framework] if settings.framework else [],
        "--root-model-dir": [str(settings.root_model_dir.resolve())] if settings.root_model_dir else [],
        "--string-map": [json.dumps(settings.string_map)] if settings.string_map else [],
        "--env": [f"{name}={value}" for name, value in settings.env.items()],
    }
    for flag, values in flags.items():
        yield from (flag, *values) if values else ()
    if settings.command_args:
        yield f"--command-args={settings.command_args}"
