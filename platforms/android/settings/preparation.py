"""What is fixed on a phone while it is measured on, and put back afterwards, whatever happened."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem, HarnessError
from harness.core.protocols import Progress
from platforms.android.link.root import ALLOW
from platforms.android.options import AndroidOptions
from platforms.android.settings.clocks import Policy, checked_wish, fixing, policies, target_khz
from platforms.android.settings.journals import JournalBroken, Journals, Written, journal_lines, parse_journal, run_of
from platforms.android.settings.settings_log import (
    Change,
    Heard,
    Kind,
    Setting,
    Shell,
    changing,
    looking,
    restoring,
    talk,
)

FIXED_PERFORMANCE_API: Final = 30
"""Android 11: the first whose `cmd power` has a fixed performance mode."""

_FIXED_PERFORMANCE = Setting(Kind.FIXED_PERFORMANCE, "mode")
_AIRPLANE = Setting(Kind.AIRPLANE, "mode")
_SCREEN = Setting(Kind.SCREEN, "power")
_STAY_ON = Setting(Kind.GLOBAL, "stay_on_while_plugged_in")
_SCREEN_OFF = Setting(Kind.SYSTEM, "screen_off_timeout")
_ANIMATIONS = tuple(
    Setting(Kind.GLOBAL, f"{what}_scale") for what in ("window_animation", "transition_animation", "animator_duration")
)
_LOOKED_AT = (_FIXED_PERFORMANCE, *_ANIMATIONS, _STAY_ON, _SCREEN_OFF, _SCREEN, _AIRPLANE)

_UNSEEN: Final = "unseen"
"""What `settings.sh` says of a setting that can be set and not be read."""
_ALL_PLUGS: Final = "7"
"""`BatteryManager.BATTERY_PLUGGED_AC | _USB | _WIRELESS`: what `svc power stayon true` sets at least."""
_LATE_MS: Final = "2147483647"
"""The latest that `screen_off_timeout` can be: 24 days."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What shall be fixed.

    Attributes:
        set_freq: A clock for rooted phones (`clocks.fixing`); None takes the fixed performance mode instead, where
            there is one. Never both: the mode moves the very limits that fix the clock.
        airplane: Radios off.
        screen: `keep`, `on` or `off`.
    """

    set_freq: str | None = None
    airplane: bool = False
    screen: str = "keep"

    @classmethod
    def of(cls, options: AndroidOptions) -> Self:
        """Those of a run.

        Raises:
            UsageError: A value that cannot be meant.
        """
        set_freq = checked_wish(options.set_freq) if options.set_freq is not None else None
        return cls(set_freq, options.airplane, options.screen)


class Preparation:
    """A context in which a phone is prepared; two round trips to go in and one to go out.

    Leaving never raises for what could not be put back: results that were measured are good all the same. It is told,
    and stays written down for the next run.

    Args:
        phone: The phone, held.
        wishes: What shall be fixed.
        journals: Where changes are written down.
        progress: Told what was put back for an earlier run, and what could not be.
        ensure_held: Makes sure that nobody else prepares the phone before something is put back; else it raises.
    """

    def __init__(
        self,
        phone: Shell,
        wishes: Wishes,
        journals: Journals,
        progress: Progress,
        ensure_held: Callable[[], None] = lambda: None,
    ) -> None:
        self._phone = phone
        self._wishes = wishes
        self._journals = journals
        self._progress = progress
        self._ensure_held = ensure_held
        self._changes: tuple[Change, ...] = ()
        self._run = ""
        self.attributes: dict[str, str] = {}
        """What was fixed and what could not be, for `Device.attributes`."""

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
        """Fix what shall be fixed. Again, after the phone was away: what is left of the first time is put back before.

        Raises:
            EnvironmentProblem: A clock was asked for and cannot be fixed.
            DeviceLost: The phone went away.
            Interrupted: The harness is being stopped.
        """
        found = self._look()
        if leftovers := self._leftovers(found):
            self._run = run_of(found.journal) or self._run
            self._put_back(leftovers, None if self._changes else "what an earlier run left behind")
            found = self._look()
        self._check_root(found)
        wanted = tuple(self._wanted(found))
        heard = self._change(wanted) if wanted else Heard()
        self.attributes = dict(self._described(found, heard))
        if clocks := {setting: why for setting, why in heard.failed.items() if setting.kind is Kind.CPUFREQ}:
            setting, why = next(iter(clocks.items()))
            raise EnvironmentProblem(
                f"cannot fix the clocks of {self._phone.name}: {setting.name}: {why}", hint="leave --set_freq out"
            )

    def restore(self) -> None:
        """Put back what is not as it was."""
        if self._changes:
            self._put_back(self._changes, None)

    def _look(self) -> Heard:
        clocks = self._wishes.set_freq is not None
        lines = looking(_LOOKED_AT, journal=self._journals.phone, clocks=clocks)
        return talk(self._phone, lines, as_root=clocks)

    def _leftovers(self, found: Heard) -> tuple[Change, ...]:
        """What is written down: on this machine, if it is of this run or the phone's, and on the phone, which counts.

        Of this run: a phone that restarts at once may have lost what it was told last.
        """
        ours = self._read("on this machine", self._journals.on_host)
        if ours is not None and ours.run not in {self._run, run_of(found.journal)}:
            self._journals.keep_on_host("", ())  # another host has put it back
            ours = None
        theirs = self._read("on the phone", lambda: parse_journal(found.journal))
        known = [change for written in (ours, theirs) if written is not None for change in written.changes]
        return tuple({change.setting: change for change in known}.values())

    def _read(self, place: str, read: Callable[[], Written | None]) -> Written | None:
        try:
            return read()
        except JournalBroken as error:
            self._progress.say(f"{self._phone.name}: the journal {place} is not used: {error}")
            return None

    def _put_back(self, changes: Sequence[Change], why: str | None) -> None:
        """Put back; what does not go back stays written down and is kept in mind."""
        self._changes = tuple(changes)
        rooted = any(change.kind is Kind.CPUFREQ for change in changes)
        try:
            self._ensure_held()
            heard = talk(self._phone, restoring(changes, self._journals.phone, self._run), as_root=rooted)
            self._changes = tuple(change for change in changes if change.setting in heard.failed)
            self._journals.keep_on_host(self._run, self._changes)
        except HarnessError as error:
            self._progress.say(
                f"✗ {self._phone.name}: its settings are not as they were: {error.message}; the next run will try again"
            )
            return
        self._tell(heard, why)

    def _tell(self, heard: Heard, why: str | None) -> None:
        name = self._phone.name
        if why is not None and heard.done:
            self._progress.say(f"{name}: put back {why}: {_listed(heard.done)}")
        for setting, value in heard.kept.items():
            restart = "; a restart gives the phone its own back" if setting.kind is Kind.CPUFREQ else ""
            self._progress.say(f"{name}: {setting.name} was changed to {value} meanwhile and stays so{restart}")
        for setting, reason in heard.failed.items():
            self._progress.say(f"✗ {name}: {setting.name} is not as it was ({reason}): the next run will try again")

    def _check_root(self, found: Heard) -> None:
        if self._wishes.set_freq is not None and not found.rooted:
            raise EnvironmentProblem(
                f"the clocks of {self._phone.name} cannot be fixed: it is not rooted",
                hint=f"{ALLOW}; or leave --set_freq out: the fixed performance mode is used then, where there is one",
            )

    def _change(self, wanted: Sequence[Change]) -> Heard:
        """Write down, then change. What could not be put back before stays written down with what it was at first."""
        written = {change.setting: change for change in self._changes}
        for change in wanted:
            before = written[change.setting].before if change.setting in written else change.before
            written[change.setting] = change.model_copy(update={"before": before})
        record = Written(run=secrets.token_hex(8), changes=tuple(written.values()))
        self._journals.keep_on_host(record.run, record.changes)
        self._run, self._changes = record.run, record.changes
        rooted = any(change.kind is Kind.CPUFREQ for change in wanted)
        lines = changing(wanted, self._journals.phone, journal_lines(record))
        return talk(self._phone, lines, as_root=rooted)

    def _wanted(self, found: Heard) -> Iterator[Change]:
        """What must be changed; what is as it should be, or cannot be read, is left alone."""
        if self._wishes.set_freq is not None:
            yield from self._fixing(policies(found.clocks), self._wishes.set_freq)
        for setting, ours in self._targets(found):
            before = found.values.get(setting)
            before = "false" if before == _UNSEEN else before  # of the fixed performance mode: as phones start
            if before is None or before == ours:
                continue
            try:
                yield Change(kind=setting.kind, name=setting.name, before=before, ours=ours)
            except ValidationError:
                self._progress.say(f"{self._phone.name}: {setting.name} is {before!r}, which could not be put back")

    def _fixing(self, found: Sequence[Policy], wish: str) -> tuple[Change, ...]:
        """A limit that something else has lowered may be heat's or a person's; it is put back, and said."""
        for policy in found:
            if policy.highest_khz < policy.frequencies_khz[-1]:
                self._progress.say(
                    f"{self._phone.name}: {policy.name} was limited to {policy.highest_khz} kHz of "
                    f"{policy.frequencies_khz[-1]} kHz before; it will be again, a restart takes the limit away"
                )
        return fixing(found, wish)

    def _targets(self, found: Heard) -> Iterator[tuple[Setting, str]]:
        if self._wishes.set_freq is None and (found.api or 0) >= FIXED_PERFORMANCE_API:
            yield _FIXED_PERFORMANCE, "true"
        for animation in _ANIMATIONS:
            yield animation, "0"
        if self._wishes.screen == "on":
            yield _STAY_ON, _ALL_PLUGS
            yield _SCREEN_OFF, _LATE_MS
        if self._wishes.screen != "keep":
            yield _SCREEN, self._wishes.screen
        if self._wishes.airplane and not self._phone.over_network:
            yield _AIRPLANE, "enabled"

    def _described(self, found: Heard, heard: Heard) -> Iterator[tuple[str, str]]:
        if self._wishes.set_freq is not None:
            clocks = [f"{each.name} {target_khz(each, self._wishes.set_freq)} kHz" for each in policies(found.clocks)]
            yield "fixed_clocks", ", ".join(clocks)
        else:
            yield "fixed_performance", _fixed_performance(found, heard)
            if found.values.get(_FIXED_PERFORMANCE) == _UNSEEN and _FIXED_PERFORMANCE not in heard.failed:
                yield "fixed_performance_before", "unknown, off afterwards"
        yield "animations", _outcome(_ANIMATIONS, "off", found, heard)
        if self._wishes.screen != "keep":
            yield "screen", _outcome((_SCREEN, _STAY_ON, _SCREEN_OFF), self._wishes.screen, found, heard)
        elif _SCREEN in found.values:
            yield "screen", f"left {found.values[_SCREEN]}"
        if self._wishes.airplane:
            away = "left as it is: the phone is reached over the network"
            yield "airplane", away if self._phone.over_network else _outcome((_AIRPLANE,), "on", found, heard)


def _fixed_performance(found: Heard, heard: Heard) -> str:
    if (found.api or 0) < FIXED_PERFORMANCE_API:
        return "not before Android 11"
    return _outcome((_FIXED_PERFORMANCE,), "on", found, heard)


def _outcome(settings: Sequence[Setting], wanted: str, found: Heard, heard: Heard) -> str:
    """In words what became of settings."""
    refused = [heard.failed[setting] for setting in settings if setting in heard.failed]
    if refused:
        return f"refused: {refused[0]}"
    return wanted if any(setting in found.values for setting in settings) else "cannot be read, left as it is"


def _listed(settings: frozenset[Setting]) -> str:
    return ", ".join(sorted(setting.name for setting in settings))
