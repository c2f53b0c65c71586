"""Reports of alarms: from the state of a watcher to pages and messages that a person reads."""

from __future__ import annotations

import glob
import shlex
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from msgspec import Struct

import harness
from harness.config.settings import Settings
from harness.core import DEFAULT_PLATFORM
from harness.core.alarm import Alarm, AlarmEvent, AlarmOrigin, AlarmReport, AlarmStage
from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmGroupReporter, AlarmReporter
from harness.core.commit import Commit, PublishedSource, Source, short_id
from harness.core.culprit import Candidate
from harness.core.errors import DeliveryFailed, HarnessError, UsageError
from harness.core.series import Series, SeriesKey
from harness.core.values import replace_surrogates
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.reproduction import option_words, recipe_words
from harness.plugins import platform_name
from harness.presentation.alarm_messages import result_url
from harness.presentation.repository_links import diff_url, fill_diff_url, web_address
from harness.shell import Interrupted
from harness.store.index import find_result
from harness.watch.notify.channels import Channel
from harness.watch.store.notifications import DeliveryStatus, Notification
from harness.watch.store.state import State


class LinkSettings(Struct, frozen=True):
    """Addresses that the user names for links.

    Attributes:
        results_url: Address under which others see the folder of results; empty where there is none.
        diff_url: Address of the difference between two commits, with `{before}` and `{after}`; empty for that which
            the remote's URL gives.
    """

    results_url: str = ""
    diff_url: str = ""


@dataclass(frozen=True, slots=True)
class AlarmReports:
    """Makes reports and messages of the alarms of a state.

    Attributes:
        state: Contains the alarms and the series.
        source: Source of the commits.
        request: What is compared.
        settings: What is measured, and where results are.
        links: Addresses that the user names for links.
        pages: Write pages; the first that writes one for each group says where it is.
        platforms: Platforms as the user named them; none means that of the settings.
    """

    state: State
    source: Source
    request: CompareRequest
    settings: Settings
    links: LinkSettings = field(default_factory=LinkSettings)
    pages: tuple[AlarmReporter, ...] = ()
    platforms: tuple[str, ...] = ()
    _ranges: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict, init=False, repr=False)

    def message_of(
        self, notifications: Sequence[Notification], channel: str, *, with_series: bool = False
    ) -> AlarmMessage:
        """Return the message about all alarms with the cause of some notifications, as they are now.

        Args:
            notifications: What is new; at least one, all with one cause.
            channel: Name of the channel that sends it: what it delivered before is no news.
            with_series: Whether reports contain their series: reading those of many benchmarks takes seconds.

        Raises:
            HarnessError: Commits cannot be read.
        """
        given = [notification.alarm for notification in notifications]
        alarms = self._group(self.state.alarms.find(given[0].identity) or given[0])
        group, known = (
            alarms[0].identity,
            self._known(alarms, channel, {notification.key for notification in notifications}),
        )
        reports = tuple(self._report(alarm, _event_of(alarm), group, with_series=with_series) for alarm in alarms)
        keys = "\n".join(sorted(notification.key for notification in notifications))
        place = next((page.group_place(group) for page in self.pages if isinstance(page, AlarmGroupReporter)), "")
        message = AlarmMessage(
            key=sha256(keys.encode()).hexdigest()[:32],
            group=group,
            event=min((report.event for report in reports), key=tuple(AlarmEvent).index),
            reports=reports,
            new=tuple(dict.fromkeys(alarm.identity for alarm in given if alarm.identity not in known)),
            is_update=bool(known),
            continued=tuple(alarm.identity for alarm in alarms[1:]),
            page=result_url(self.links.results_url, place) if place else "",
            place=place,
        )
        return replace_surrogates(message)

    def report_of(self, notification: Notification) -> AlarmReport:
        """Return the report of an alarm as it was when something happened.

        Raises:
            HarnessError: Its commits cannot be read.
        """
        alarm = notification.alarm
        current = self.state.alarms.find(alarm.identity) or alarm
        return self._report(alarm, notification.event, self._group(current)[0].identity, with_series=True)

    def waits_for(self, notification: Notification, in_progress: Sequence[Alarm]) -> bool:
        """Return whether alarms are being verified that share a commit with this one, or whose search is short.

        A search among several commits may take hours, and nothing waits for it.
        """
        try:
            own = set(self.commits_of(notification.alarm))
            others = [(alarm, self.commits_of(alarm)) for alarm in in_progress]
        except HarnessError:
            return False
        return any(
            own.intersection(commits) and (alarm.stage is AlarmStage.OPENED or len(commits) == 1)
            for alarm, commits in others
        )

    def commits_of(self, alarm: Alarm) -> Sequence[str]:
        """Return the ids of the commits that may have caused a change, oldest first.

        Raises:
            HarnessError: They cannot be read.
        """
        ends = (alarm.change.last_without, alarm.change.first_with)
        if ends not in self._ranges:  # asked in each step of the loop, for each alarm, and always the same
            before, after = map(self.source.resolve, ends)
            self._ranges[ends] = [commit.id for commit in self.source.between(before, after)]
        return self._ranges[ends]

    def _group(self, alarm: Alarm) -> Sequence[Alarm]:
        """Return all alarms with the cause of one that somebody was to be notified of, that one at least."""
        every = self.state.alarms.in_stages(*AlarmStage)
        group = [other for other in every if other.cause == alarm.cause]
        notified = [other for other in group if self.state.deliveries.of_alarm(other.identity)]
        return notified or [alarm]

    def _known(self, alarms: Sequence[Alarm], channel: str, new: Collection[str]) -> set[str]:
        """Return the identities of the alarms that a channel delivered notifications about, if only to some addresses.

        Those with the keys `new` are being delivered: they do not count.
        """
        deliveries = (delivery for alarm in alarms for delivery in self.state.deliveries.of_alarm(alarm.identity))
        return {
            delivery.notification.alarm.identity
            for delivery in deliveries
            if delivery.channel == channel and delivery.notification.key not in new
            if delivery.status is DeliveryStatus.DELIVERED or delivery.received
        }

    def _report(self, alarm: Alarm, event: AlarmEvent, group: str, *, with_series: bool) -> AlarmReport:
        change, verification, size = alarm.change, alarm.verification, alarm.size
        key = SeriesKey(benchmark=change.benchmark, device=change.device, metric=change.metric.name)
        platform = verification.platform if verification is not None else ""
        series = self.state.points.series(key) if with_series else Series(key=key)
        if not change.metric.unit and series.metric is not None:
            metric = change.metric.model_copy(update={"unit": series.metric.unit})
            alarm = alarm.model_copy(update={"change": change.model_copy(update={"metric": metric})})
        return AlarmReport(
            event=event,
            alarm=alarm if alarm.candidates else self._with_candidates(alarm),
            device_name=(verification.device_name if verification is not None else "") or change.device,
            before=self._resolve(change.last_without, alarm),
            series=series.points,
            command=self.command(alarm, platform or self.settings.platform),
            closing_command="" if alarm.stage is AlarmStage.CLOSED else self.closing_command(alarm),
            discovery=origin(alarm.opened),
            results=self._results(alarm),
            results_url=self.links.results_url,
            repository=self.repository,
            diff_url=self._diff_url(size.before, size.after),
            group=group,
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
        try:
            before, after = self.source.resolve(change.last_without), self.source.resolve(change.first_with)
            commits = self.source.between(before, after)
        except UsageError:
            if alarm.stage is not AlarmStage.CLOSED:
                raise
            commits = [self._resolve(change.first_with, alarm)]
        return alarm.model_copy(update={"candidates": tuple(Candidate(commit=commit) for commit in commits)})

    def _resolve(self, identity: str, alarm: Alarm) -> Commit:
        """Return a commit; where history was rewritten without it, as the backlog knows it, or at least by its id."""
        try:
            return self.source.resolve(identity)
        except UsageError:
            if alarm.stage is not AlarmStage.CLOSED:
                raise
            entry = self.state.commits.find(identity)
            return entry.commit if entry is not None else Commit(source=self.source.name, id=identity)

    def closing_command(self, alarm: Alarm) -> str:
        """Return the command by which a person closes an alarm, but for the reason."""
        words = ["harness", "alarms", "close", alarm.identity, "--state", str(self.state.path.resolve())]
        if alarm.recovery is not None:
            words += ["--by", short_id(alarm.recovery.after)]
        return shlex.join([*words, "--reason"])

    def command(self, alarm: Alarm, platform: str) -> str:
        """Return the command that measures a change again on its device, wherever it is typed.

        It compares the two commits that the size of the alarm is of (`harness.presentation.alarm_headlines`).
        """
        change, size = alarm.change, alarm.size
        files = [str(file.resolve()) for file in self.settings.benchmark_file]
        words = ["harness", "compare", "-b", *files, "--source", self.source.name]
        words += [
            "--control",
            size.before,
            "--treatment",
            size.after,
            "--only",
            glob.escape(change.title),
        ]
        words += [word for name in self.request.metrics for word in ("--metric", name)]
        words += ["--unequal-options", *self.request.unequal_options] if self.request.unequal_options else []
        words += [*recipe_words(self.request.recipes), *option_words(self.settings, self.settings.requested)]
        requested = self.platforms or (self.settings.platform,)
        # `host/incremental` names a recipe, too
        name = next((name for name in requested if platform_name(name) == platform_name(platform)), platform)
        if name != DEFAULT_PLATFORM:
            words += ["-p", name]
        if platform_name(platform) != DEFAULT_PLATFORM:
            words += ["-d", change.device]
        return shlex.join(words)


class AlarmReportChannel(Struct, frozen=True):
    """Has a reporter of alarms write a report for each notification (`harness.watch.notify.channels.Channel`).

    Attributes:
        reporter: Writes the reports.
        reports: Makes them.
    """

    reporter: AlarmReporter
    reports: AlarmReports

    @property
    def name(self) -> str:
        """Name of the channel: that of the reporter."""
        return self.reporter.name

    def deliver(self, notification: Notification) -> str:
        """Write the report of an alarm in place of an earlier one.

        Raises:
            DeliveryFailed: The commits cannot be read, or the report cannot be written.
        """
        return map_errors(
            lambda: self.reporter.report(self.reports.report_of(notification)), f"alarm reporter {self.name}"
        )


class GroupPageChannel(Struct, frozen=True):
    """Has a reporter write the page of all alarms with one cause (`harness.watch.notify.channels.GroupingChannel`).

    Attributes:
        reporter: Writes the page.
        reports: Makes its content.
    """

    reporter: AlarmGroupReporter
    reports: AlarmReports

    @property
    def name(self) -> str:
        """Name of the channel: made of that of the reporter."""
        return f"{self.reporter.name} page"

    def deliver(self, notification: Notification) -> str:
        """Write the page that one notification is about."""
        return self.deliver_together([notification])

    def deliver_together(self, notifications: Sequence[Notification]) -> str:
        """Write the page in place of an earlier one.

        Raises:
            DeliveryFailed: The commits cannot be read, or the page cannot be written.
        """
        return map_errors(
            lambda: self.reporter.report_group(self.reports.message_of(notifications, self.name, with_series=True)),
            f"alarm reporter {self.reporter.name}",
        )

    def waits_for(self, notification: Notification, in_progress: Sequence[Alarm]) -> bool:
        """Return whether alarms in progress may soon be on the page."""
        return self.reports.waits_for(notification, in_progress)


def page_channels(reports: AlarmReports) -> Sequence[Channel]:
    """Return the channels that write pages: those of single alarms first, to which the others link."""
    groups = [page for page in reports.pages if isinstance(page, AlarmGroupReporter)]
    return [
        *(AlarmReportChannel(page, reports) for page in reports.pages),
        *(GroupPageChannel(page, reports) for page in groups),
    ]


def map_errors(action: Callable[[], str], what: str) -> str:
    """Do what a plug-in does; a third party's mistake must not stop the watcher.

    Raises:
        DeliveryFailed: It failed, in whatever way.
    """
    try:
        return action()
    except (Interrupted, DeliveryFailed):
        raise
    except HarnessError as error:
        raise DeliveryFailed(error.message) from error
    except Exception as error:
        raise DeliveryFailed(f"{what} is broken: {type(error).__name__}: {error}") from error


def origin(time: float) -> AlarmOrigin:
    """Return the circumstances of this process."""
    return AlarmOrigin(time=time, harness=harness.__version__, host=socket.gethostname())


def _event_of(alarm: Alarm) -> AlarmEvent:
    """Return what happened last to an alarm."""
    if alarm.stage is AlarmStage.CLOSED:
        return AlarmEvent.CLOSED
    if alarm.recovery is not None:
        return AlarmEvent.RECOVERED
    if alarm.reopened:
        return AlarmEvent.REOPENED
    return AlarmEvent.CONFIRMED if alarm.search is None else AlarmEvent.BISECTED
