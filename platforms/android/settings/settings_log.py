"""The settings of a phone that we change, and the conversation in which they are looked at, changed and put back.

A setting is written down (`journals`) before it is changed and struck out when it is as it was. What is written down
is data in a strict form: it can put back the settings below, and do nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, Self

from pydantic import model_validator

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from platforms.android.link.root import AS_ROOT, FIND_S, UNROOTED
from platforms.android.scripts import read_script

_PROGRAM: Final = read_script("settings.sh")

_AS_ANYBODY: Final = 'exec sh -c "$1"'
_TALK_S: Final = 60.0
"""For one conversation: a dozen services, each of which may take a second on a slow phone."""


class Kind(StrEnum):
    """What kind of setting it is; the words of `settings.sh`."""

    GLOBAL = "global"
    SYSTEM = "system"
    CPUFREQ = "cpufreq"
    FIXED_PERFORMANCE = "fixed_performance"
    AIRPLANE = "airplane"
    SCREEN = "screen"


_NUMBER: Final = r"-?[0-9]{1,12}(\.[0-9]{1,6})?|null"
_FORMS: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.GLOBAL: ("(window_animation|transition_animation|animator_duration)_scale|stay_on_while_plugged_in", _NUMBER),
    Kind.SYSTEM: ("screen_off_timeout", _NUMBER),
    Kind.CPUFREQ: (r"policy[0-9]{1,3}/scaling_(governor|min_freq|max_freq)", "[A-Za-z][A-Za-z0-9_-]{0,31}|[0-9]{1,9}"),
    Kind.FIXED_PERFORMANCE: ("mode", "true|false"),
    Kind.AIRPLANE: ("mode", "enabled|disabled"),
    Kind.SCREEN: ("power", "on|off"),
}
"""Every setting that is ever changed, and what it can be: patterns of names and of values."""


class Setting(NamedTuple):
    """One setting of a phone."""

    kind: Kind
    name: str


class Change(Value):
    """A setting, what it was, and what we make of it. Refuses everything that is not one of ours."""

    kind: Kind
    name: str
    before: str
    ours: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        name, value = _FORMS[self.kind]
        if not re.fullmatch(name, self.name):
            raise ValueError(f"{self.kind} {self.name!r} is no setting that the harness changes")
        if not all(re.fullmatch(value, text) for text in (self.before, self.ours)):
            raise ValueError(f"{self.kind} {self.name} cannot be {self.before!r} or {self.ours!r}")
        return self

    @property
    def setting(self) -> Setting:
        """What is changed."""
        return Setting(self.kind, self.name)

    @property
    def line(self) -> str:
        """It in one line of four words."""
        return f"{self.kind} {self.name} {self.before} {self.ours}"


class Answer(Protocol):
    """What a script said."""

    @property
    def exit_code(self) -> int:
        """How it ended."""

    @property
    def stdout(self) -> str:
        """What it wrote there."""

    @property
    def stderr(self) -> str:
        """What it wrote there."""


class Shell(Protocol):
    """What of a `Phone` is needed to prepare it; see there."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    @property
    def over_network(self) -> bool:
        """Whether it is reached through its own radios."""

    def sh(self, script: str, *arguments: str, timeout_s: float = 20.0, stdin: bytes = b"") -> Answer:
        """Run a script on the phone."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the phone answered in one conversation.

    Attributes:
        values: What settings are now; those that cannot be read are missing, `unseen` can be set all the same.
        done: Settings that are as they should be.
        kept: Settings that somebody else has changed since, with what they are.
        failed: Settings that would not change, with what the phone said.
        journal: Lines of the phone's journal.
        clocks: What the phone says about its clocks: `path:content`, below `/sys/devices/system/cpu/cpufreq/`.
        api: Android's API level; None when it does not say.
        rooted: Whether we were root, where that was asked for.
    """

    values: Mapping[Setting, str] = field(default_factory=dict)
    done: frozenset[Setting] = frozenset()
    kept: Mapping[Setting, str] = field(default_factory=dict)
    failed: Mapping[Setting, str] = field(default_factory=dict)
    journal: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()
    api: int | None = None
    rooted: bool = True


def looking(settings: Iterable[Setting], *, journal: str | None = None, clocks: bool = False) -> tuple[str, ...]:
    """Lines that ask what settings are.

    Args:
        settings: The settings.
        journal: The phone's journal, if it is wanted.
        clocks: Whether the clocks are wanted.
    """
    shown = (f"show {journal}",) if journal else ()
    asked = tuple(f"get {setting.kind} {setting.name}" for setting in settings)
    return ("api", *shown, *asked, *(("clocks",) if clocks else ()))


def changing(changes: Sequence[Change], journal: str, record: Sequence[str]) -> tuple[str, ...]:
    """Lines that write the phone's journal and then change settings, in this order.

    Args:
        changes: What is changed.
        journal: The phone's journal.
        record: Its lines.
    """
    written = (f"journal {journal}", *(f"record {line}" for line in record), "keep")
    return (*written, *(f"put {change.line}" for change in changes))


def restoring(changes: Sequence[Change], journal: str, run: str) -> tuple[str, ...]:
    """Lines that put settings back, the last first, and forget the phone's journal when all are.

    Args:
        changes: What was changed, in that order.
        journal: The phone's journal.
        run: Whose it must be to be forgotten.
    """
    return (*(f"back {change.line}" for change in reversed(changes)), f"forget {journal} {run}")


def talk(phone: Shell, lines: Sequence[str], *, as_root: bool = False) -> Heard:
    """Say these lines to the phone and hear its answers, in one round trip.

    Args:
        phone: The phone.
        lines: For `settings.sh`.
        as_root: Become root for it, where that is possible.

    Raises:
        DeviceLost: The phone went away; whatever had been said before may have happened.
        EnvironmentProblem: The phone's journal cannot be written, or the phone cannot follow.
    """
    text = "".join(f"{line}\n" for line in lines)
    how, limit_s = (AS_ROOT, _TALK_S + FIND_S) if as_root else (_AS_ANYBODY, _TALK_S)
    said = phone.sh(how, _PROGRAM, timeout_s=limit_s, stdin=text.encode())
    answers = [line.rstrip().split(" ") for line in said.stdout.splitlines()]
    for words in answers:
        if words[:2] == ["record", "failed"]:
            raise EnvironmentProblem(
                f"cannot write down what is changed on {phone.name} in {' '.join(words[2:])}: nothing was changed",
                hint="make space there",
            )
    if said.exit_code != 0 or answers[-1:] != [["end"]]:
        last = (said.stderr or said.stdout).strip().rpartition("\n")[2]
        raise EnvironmentProblem(f"cannot look at the settings of {phone.name}: {last or 'it says nothing'}")
    return _heard(answers)


def _heard(answers: Sequence[Sequence[str]]) -> Heard:
    told = {verb: tuple(" ".join(words[1:]) for words in answers if words[0] == verb) for verb in ("shown", "clock")}
    api = next((int(words[1]) for words in answers if words[0] == "api" and words[1:2] and words[1].isdigit()), None)
    outcomes = [(Setting(Kind(words[1]), words[2]), words[3], words[4:]) for words in answers if _is_outcome(words)]
    values = {
        Setting(Kind(words[1]), words[2]): " ".join(words[3:]) for words in answers if words[0] == "get" and words[3:]
    }
    return Heard(
        values=values,
        done=frozenset(setting for setting, outcome, _ in outcomes if outcome == "done"),
        kept={setting: " ".join(rest) for setting, outcome, rest in outcomes if outcome == "kept"},
        failed={setting: " ".join(rest) for setting, outcome, rest in outcomes if outcome in {"failed", "refused"}},
        journal=told["shown"],
        clocks=told["clock"],
        api=api,
        rooted=[UNROOTED] not in answers,
    )


def _is_outcome(words: Sequence[str]) -> bool:
    return words[0] in {"put", "back"} and len(words) > 3
