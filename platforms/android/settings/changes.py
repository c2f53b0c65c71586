"""Phone settings that the harness changes, and the script on the phone that reads, changes and restores them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, Self

from msgspec import Struct, field
from pydantic import model_validator

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from platforms.android.link.phone import ScriptResult
from platforms.android.link.root import AS_ROOT, FIND_S, UNROOTED
from platforms.android.scripts import read_script

UNREADABLE: Final = "unseen"
"""The script's answer for a setting that can be changed but not read."""

_SCRIPT: Final = read_script("settings.sh")
_WITHOUT_ROOT: Final = 'exec sh -c "$1"'
_SCRIPT_S: Final = 60.0
"""Time limit of the script: a dozen services, each of which may take a second on a slow phone."""


class SettingKind(StrEnum):
    """Kinds of settings, as `settings.sh` calls them."""

    GLOBAL = "global"
    SYSTEM = "system"
    CPUFREQ = "cpufreq"
    FIXED_PERFORMANCE = "fixed_performance"
    AIRPLANE = "airplane"
    SCREEN = "screen"


_NUMBER: Final = r"-?[0-9]{1,12}(\.[0-9]{1,6})?|null"
_PATTERNS: Final[Mapping[SettingKind, tuple[str, str]]] = {
    SettingKind.GLOBAL: (
        "(window_animation|transition_animation|animator_duration)_scale|stay_on_while_plugged_in",
        _NUMBER,
    ),
    SettingKind.SYSTEM: ("screen_off_timeout", _NUMBER),
    SettingKind.CPUFREQ: (
        r"policy[0-9]{1,3}/scaling_(governor|min_freq|max_freq)",
        "[A-Za-z][A-Za-z0-9_-]{0,31}|[0-9]{1,9}",
    ),
    SettingKind.FIXED_PERFORMANCE: ("mode", "true|false"),
    SettingKind.AIRPLANE: ("mode", "enabled|disabled"),
    SettingKind.SCREEN: ("power", "on|off"),
}
"""Every setting that is ever changed: patterns of names and of values."""


class Setting(NamedTuple):
    """One setting of a phone."""

    kind: SettingKind
    name: str


class SettingChange(Value):
    """A setting, its value before, and the value that the harness gives it. Only settings of `_PATTERNS` are valid."""

    kind: SettingKind
    name: str
    before: str
    ours: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        name, value = _PATTERNS[self.kind]
        if not re.fullmatch(name, self.name):
            raise ValueError(f"{self.kind} {self.name!r} is no setting that the harness changes")
        if not all(re.fullmatch(value, text) for text in (self.before, self.ours)):
            raise ValueError(f"{self.kind} {self.name} cannot be {self.before!r} or {self.ours!r}")
        return self

    @property
    def setting(self) -> Setting:
        """The setting that is changed."""
        return Setting(self.kind, self.name)

    @property
    def line(self) -> str:
        """The change in one line of four words."""
        return f"{self.kind} {self.name} {self.before} {self.ours}"


class ScriptRunner(Protocol):
    """The part of a `Phone` that is needed to change its settings."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def over_network(self) -> bool:
        """True when it is reached through its own radios."""

    def sh(self, script: str, *arguments: str, timeout_s: float = 20.0, stdin: bytes = b"") -> ScriptResult:
        """Run a script on the phone."""


class SettingsReply(Struct, frozen=True):
    """Answers of the phone to one list of requests.

    Attributes:
        values: Current values; settings that cannot be read are missing, or `UNREADABLE` if they can be changed.
        done: Settings that were changed or restored.
        kept: Settings that somebody else has changed since, with their values.
        failed: Settings that could not be changed, with the phone's reason.
        log: Lines of the phone's settings log.
        clocks: Files about the phone's clocks: `path:content`, below `/sys/devices/system/cpu/cpufreq/`.
        api: Android's API level; None when the phone does not report.
        rooted: Whether the script ran as root, where that was requested.
    """

    values: Mapping[Setting, str] = field(default_factory=dict)
    done: frozenset[Setting] = frozenset()
    kept: Mapping[Setting, str] = field(default_factory=dict)
    failed: Mapping[Setting, str] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()
    api: int | None = None
    rooted: bool = True


def read_requests(settings: Iterable[Setting], log: str, *, clocks: bool = False) -> tuple[str, ...]:
    """Return requests for the current values of settings.

    Args:
        settings: The settings.
        log: The phone's settings log, which is read too.
        clocks: Whether to read the clocks too.
    """
    values = (f"get {setting.kind} {setting.name}" for setting in settings)
    return ("api", f"show {log}", *values, *(("clocks",) if clocks else ()))


def change_requests(changes: Sequence[SettingChange], log: str, log_lines: Sequence[str]) -> tuple[str, ...]:
    """Return requests that write the phone's settings log and then change settings, in this order.

    Args:
        changes: The changes.
        log: The phone's settings log.
        log_lines: Its content.
    """
    logged = (f"journal {log}", *(f"record {line}" for line in log_lines), "keep")
    return (*logged, *(f"put {change.line}" for change in changes))


def restore_requests(changes: Sequence[SettingChange], log: str, run: str) -> tuple[str, ...]:
    """Return requests that restore settings, the last first, and remove the phone's settings log when all are restored.

    Args:
        changes: The changes, in the order in which they were made.
        log: The phone's settings log.
        run: The run that the log must be of to be removed.
    """
    return (*(f"back {change.line}" for change in reversed(changes)), f"forget {log} {run}")


def send_requests(phone: ScriptRunner, requests: Sequence[str], *, as_root: bool = False) -> SettingsReply:
    """Run `settings.sh` on the phone with these requests, in one round trip.

    Args:
        phone: The phone.
        requests: Lines for the script.
        as_root: Run it as root where that is possible.

    Raises:
        DeviceLost: The phone became unreachable; any of the requests may have been followed.
        EnvironmentProblem: The phone's settings log cannot be written, or the script failed.
    """
    stdin = "".join(f"{line}\n" for line in requests).encode()
    runner, limit_s = (AS_ROOT, _SCRIPT_S + FIND_S) if as_root else (_WITHOUT_ROOT, _SCRIPT_S)
    result = phone.sh(runner, _SCRIPT, timeout_s=limit_s, stdin=stdin)
    answers = [line.rstrip().split(" ") for line in result.stdout.splitlines()]
    for words in answers:
        if words[:2] == ["record", "failed"]:
            raise EnvironmentProblem(
                f"cannot log the changes of {phone.name}'s settings in {' '.join(words[2:])}: nothing was changed",
                hint="make space there",
            )
    if result.exit_code != 0 or answers[-1:] != [["end"]]:
        reason = (result.stderr or result.stdout).strip().rpartition("\n")[2]
        raise EnvironmentProblem(f"cannot read the settings of {phone.name}: {reason or 'there is no answer'}")
    return _parse_answers(answers)


def _parse_answers(answers: Sequence[Sequence[str]]) -> SettingsReply:
    lines = {verb: tuple(" ".join(words[1:]) for words in answers if words[0] == verb) for verb in ("shown", "clock")}
    api = next((int(words[1]) for words in answers if words[0] == "api" and words[1:2] and words[1].isdigit()), None)
    outcomes = [
        (Setting(SettingKind(words[1]), words[2]), words[3], " ".join(words[4:]))
        for words in answers
        if words[0] in {"put", "back"} and len(words) > 3
    ]
    values = {
        Setting(SettingKind(words[1]), words[2]): " ".join(words[3:])
        for words in answers
        if words[0] == "get" and words[3:]
    }
    return SettingsReply(
        values=values,
        done=frozenset(setting for setting, outcome, _ in outcomes if outcome == "done"),
        kept={setting: text for setting, outcome, text in outcomes if outcome == "kept"},
        failed={setting: text for setting, outcome, text in outcomes if outcome in {"failed", "refused"}},
        log=lines["shown"],
        clocks=lines["clock"],
        api=api,
        rooted=[UNROOTED] not in answers,
    )
