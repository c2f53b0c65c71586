"""Settings that are fixed on a phone while it is measured on, and restored afterwards, whatever happened."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem, HarnessError
from harness.core.protocols import Progress
from platforms.android.link.root import ALLOW_ROOT
from platforms.android.options import AndroidOptions
from platforms.android.settings.changes import (
    UNREADABLE,
    ScriptRunner,
    Setting,
    SettingChange,
    SettingKind,
    SettingsReply,
    change_requests,
    read_requests,
    restore_requests,
    send_requests,
)
from platforms.android.settings.clocks import fix_clocks, parse_policies
from platforms.android.settings.settings_log import (
    InvalidSettingsLog,
    LoggedChanges,
    SettingsLog,
    format_log,
    parse_log,
    parse_run,
)
from platforms.android.state.readiness import Condition

_FIXED_PERFORMANCE_API: Final = 30
"""Android 11: the first whose `cmd power` has a fixed performance mode."""

_FIXED_PERFORMANCE = Setting(SettingKind.FIXED_PERFORMANCE, "mode")
_AIRPLANE = Setting(SettingKind.AIRPLANE, "mode")
_SCREEN = Setting(SettingKind.SCREEN, "power")
_STAY_ON = Setting(SettingKind.GLOBAL, "stay_on_while_plugged_in")
_SCREEN_OFF = Setting(SettingKind.SYSTEM, "screen_off_timeout")
_ANIMATIONS = tuple(
    Setting(SettingKind.GLOBAL, f"{name}_scale")
    for name in ("window_animation", "transition_animation", "animator_duration")
)
_ALL_SETTINGS = (_FIXED_PERFORMANCE, *_ANIMATIONS, _STAY_ON, _SCREEN_OFF, _SCREEN, _AIRPLANE)

_ALL_PLUGS: Final = "7"
"""`BatteryManager.BATTERY_PLUGGED_AC | _USB | _WIRELESS`: what `svc power stayon true` sets at least."""
_LATEST_MS: Final = "2147483647"
"""The highest `screen_off_timeout`: 24 days."""


class Preparation:
    """A context in which a phone is prepared; two round trips to enter it and one to leave it.

    Leaving never raises for settings that could not be restored: the results are valid all the same. The failure is
    shown, and the settings stay logged for the next run.

    Args:
        phone: The phone, locked.
        options: Settings to fix: `set_freq` or, without it, the fixed performance mode where there is one (never both:
            the mode moves the very limits that fix the clock), `airplane` and `screen`.
        log: Undo log of the phone's settings.
        progress: Shows what was restored for an earlier run, and what could not be restored.
        ensure_locked: Called before settings are restored; raises when another host may have locked the phone.
        overridden: Conditions that are not demanded.
    """

    def __init__(
        self,
        phone: ScriptRunner,
        options: AndroidOptions,
        log: SettingsLog,
        progress: Progress,
        ensure_locked: Callable[[], None] = lambda: None,
        *,
        overridden: Collection[Condition] = (),
    ) -> None:
        self._phone = phone
        self._options = options
        self._log = log
        self._progress = progress
        self._ensure_locked = ensure_locked
        self._leaves_performance = Condition.FIXED_PERFORMANCE in overridden
        self._changes: tuple[SettingChange, ...] = ()
        self._run = ""
        self.attributes: dict[str, str] = {}
        """Settings that were fixed and that could not be, for `Device.attributes`."""

    def __enter__(self) -> Self:
        try:
            self.prepare()
        except BaseException:
            self.restore()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.restore()

    def prepare(self) -> None:
        """Fix the settings. When called again, after a reconnection, what is left of the first time is restored before.

        Raises:
            EnvironmentProblem: A frequency was requested and cannot be fixed.
            DeviceLost: The phone became unreachable.
            Interrupted: The harness is being stopped.
        """
        current = self._read()
        if leftovers := self._leftovers(current):
            self._run = parse_run(current.log) or self._run
            self._restore(leftovers, of_earlier_run=not self._changes)
            current = self._read()
        if self._options.set_freq is not None and not current.rooted:
            raise EnvironmentProblem(
                f"the clocks of {self._phone.name} cannot be fixed: it is not rooted",
                hint=f"{ALLOW_ROOT}; or leave out --set-freq: the fixed performance mode is used then, if there is one",
            )
        changes = (*self._clock_changes(current), *self._setting_changes(current))
        reply = self._change(changes) if changes else SettingsReply()
        description = _describe(
            self._options,
            current,
            reply,
            over_network=self._phone.over_network,
            leaves_performance=self._leaves_performance,
        )
        self.attributes = dict(description)
        for setting, reason in reply.failed.items():
            if setting.kind is SettingKind.CPUFREQ:
                raise EnvironmentProblem(
                    f"cannot fix the clocks of {self._phone.name}: {setting.name}: {reason}",
                    hint="leave out --set-freq",
                )

    def restore(self) -> None:
        """Restore the settings that are still changed."""
        if self._changes:
            self._restore(self._changes, of_earlier_run=False)

    def _read(self) -> SettingsReply:
        clocks = self._options.set_freq is not None
        return send_requests(self._phone, read_requests(_ALL_SETTINGS, self._log.phone, clocks=clocks), as_root=clocks)

    def _leftovers(self, current: SettingsReply) -> tuple[SettingChange, ...]:
        """Return logged changes: those on this machine, if of this run or the phone's, and those on the phone.

        The phone's count. Of this run: a phone that restarts at once may have lost what it logged last.
        """
        on_host = self._valid_log("on this machine", self._log.read_host)
        if on_host is not None and on_host.run not in {self._run, parse_run(current.log)}:
            self._log.write_host("", ())  # another host has restored it
            on_host = None
        on_phone = self._valid_log("on the phone", lambda: parse_log(current.log))
        changes = [change for log in (on_host, on_phone) if log is not None for change in log.changes]
        return tuple({change.setting: change for change in changes}.values())

    def _valid_log(self, place: str, read: Callable[[], LoggedChanges | None]) -> LoggedChanges | None:
        try:
            return read()
        except InvalidSettingsLog as error:
            self._progress.warn(f"{self._phone.name}: the settings log {place} is not used: {error}")
            return None

    def _restore(self, changes: Sequence[SettingChange], *, of_earlier_run: bool) -> None:
        """Restore settings; those that cannot be restored stay logged and remembered."""
        self._changes = tuple(changes)
        try:
            self._ensure_locked()
            requests = restore_requests(changes, self._log.phone, self._run)
            reply = send_requests(self._phone, requests, as_root=_needs_root(changes))
            self._changes = tuple(change for change in changes if change.setting in reply.failed)
            self._log.write_host(self._run, self._changes)
        except HarnessError as error:
            self._progress.warn(
                f"✗ {self._phone.name}: its settings are not restored: {error.message}; the next run will try again"
            )
            return
        self._show_restored(reply, of_earlier_run=of_earlier_run)

    def _show_restored(self, reply: SettingsReply, *, of_earlier_run: bool) -> None:
        name = self._phone.name
        if of_earlier_run and reply.done:
            restored = ", ".join(sorted(setting.name for setting in reply.done))
            self._progress.say(f"{name}: restored what an earlier run had changed: {restored}")
        for setting, value in reply.kept.items():
            restart = "; a restart resets it" if setting.kind is SettingKind.CPUFREQ else ""
            self._progress.say(f"{name}: {setting.name} was changed to {value} meanwhile and is kept{restart}")
        for setting, reason in reply.failed.items():
            self._progress.warn(f"✗ {name}: {setting.name} is not restored ({reason}): the next run will try again")

    def _change(self, changes: Sequence[SettingChange]) -> SettingsReply:
        """Log changes, then make them. Settings that could not be restored stay logged with their original values."""
        logged = {change.setting: change for change in self._changes}
        for change in changes:
            before = logged[change.setting].before if change.setting in logged else change.before
            logged[change.setting] = change.model_copy(update={"before": before})
        log = LoggedChanges(run=secrets.token_hex(8), changes=tuple(logged.values()))
        self._log.write_host(log.run, log.changes)
        self._run, self._changes = log.run, log.changes
        requests = change_requests(changes, self._log.phone, format_log(log))
        return send_requests(self._phone, requests, as_root=_needs_root(changes))

    def _clock_changes(self, current: SettingsReply) -> tuple[SettingChange, ...]:
        """Return the changes that fix the clocks; a limit that heat or a person has lowered before is shown."""
        if self._options.set_freq is None:
            return ()
        policies = parse_policies(current.clocks)
        for policy in policies:
            highest_khz = policy.frequencies_khz[-1]
            if policy.highest_khz < highest_khz:
                self._progress.say(
                    f"{self._phone.name}: {policy.name} was limited to {policy.highest_khz} kHz of {highest_khz} kHz "
                    "before; it will be again, a restart removes the limit"
                )
        return fix_clocks(policies, self._options.set_freq)

    def _setting_changes(self, current: SettingsReply) -> Iterator[SettingChange]:
        """Yield the changes of other settings; those that have their value already, or cannot be read, stay."""
        targets = _target_values(
            self._options,
            current,
            over_network=self._phone.over_network,
            leaves_performance=self._leaves_performance,
        )
        for setting, target in targets:
            before = current.values.get(setting)
            before = "false" if before == UNREADABLE else before  # fixed performance mode: its default
            if before is None or before == target:
                continue
            try:
                yield SettingChange(kind=setting.kind, name=setting.name, before=before, ours=target)
            except ValidationError:
                self._progress.say(
                    f"{self._phone.name}: {setting.name} stays {before!r}, because it could not be restored"
                )


def _target_screen(options: AndroidOptions, *, over_network: bool) -> str:
    """Return what becomes of the screen: a phone without a cable sleeps when it is off, and nothing runs then."""
    return "on" if over_network and options.screen == "keep" else options.screen


def _needs_root(changes: Sequence[SettingChange]) -> bool:
    return any(change.kind is SettingKind.CPUFREQ for change in changes)


def _target_values(
    options: AndroidOptions, current: SettingsReply, *, over_network: bool, leaves_performance: bool
) -> Iterator[tuple[Setting, str]]:
    is_wanted = options.set_freq is None and not leaves_performance
    if is_wanted and (current.api or 0) >= _FIXED_PERFORMANCE_API:
        yield _FIXED_PERFORMANCE, "true"
    for animation in _ANIMATIONS:
        yield animation, "0"
    screen = _target_screen(options, over_network=over_network)
    if screen == "on":
        yield _STAY_ON, _ALL_PLUGS
        yield _SCREEN_OFF, _LATEST_MS
    if screen != "keep":
        yield _SCREEN, screen
    if options.airplane and not over_network:
        yield _AIRPLANE, "enabled"


def _describe(
    options: AndroidOptions,
    current: SettingsReply,
    reply: SettingsReply,
    *,
    over_network: bool,
    leaves_performance: bool,
) -> Iterator[tuple[str, str]]:
    """Yield attributes of the device: what was fixed, and what could not be."""

    def describe_outcome(settings: Sequence[Setting], target: str) -> str:
        refusals = [reply.failed[setting] for setting in settings if setting in reply.failed]
        if refusals:
            return f"refused: {refusals[0]}"
        is_readable = any(setting in current.values for setting in settings)
        return target if is_readable else "cannot be read, left as it is"

    if options.set_freq is not None:
        policies = parse_policies(current.clocks)
        clocks = [f"{policy.name} {policy.nearest_khz(options.set_freq)} kHz" for policy in policies]
        yield "fixed_clocks", ", ".join(clocks)
    elif leaves_performance:
        yield "fixed_performance", "left as it is (--override)"
    else:
        is_old = (current.api or 0) < _FIXED_PERFORMANCE_API
        yield (
            "fixed_performance",
            "not before Android 11" if is_old else describe_outcome((_FIXED_PERFORMANCE,), "on"),
        )
        if current.values.get(_FIXED_PERFORMANCE) == UNREADABLE and _FIXED_PERFORMANCE not in reply.failed:
            yield "fixed_performance_before", "unknown, off afterwards"
    yield "animations", describe_outcome(_ANIMATIONS, "off")
    screen = _target_screen(options, over_network=over_network)
    if screen != "keep":
        outcome = describe_outcome((_SCREEN, _STAY_ON, _SCREEN_OFF), screen)
        yield "screen", outcome if screen == options.screen else f"{outcome}, lest it sleeps"
    elif _SCREEN in current.values:
        yield "screen", f"left {current.values[_SCREEN]}"
    if options.airplane:
        left = "left as it is: the phone is reached over the network"
        yield "airplane", left if over_network else describe_outcome((_AIRPLANE,), "on")
