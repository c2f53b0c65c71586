"""Options of a probe: numbers, choices and lists that a specification or a command line gives by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from harness.core.errors import UsageError
from harness.core.placeholders import suggest
from harness.core.probe import ProbeRequest


def read_probe(text: str) -> ProbeRequest:
    """Read a request of a command line: `NAME`, or `NAME:OPTION=VALUE,OPTION=VALUE`.

    Raises:
        UsageError: It is none.
    """
    name, _, rest = text.partition(":")
    options: dict[str, JsonValue] = {}
    for item in rest.split(",") if rest else ():
        option, equals, value = item.partition("=")
        if not (option and equals and value):
            raise UsageError(f"--probe {text}: {item!r} is no OPTION=VALUE", hint="as in perf-record:frequency=999")
        options[option] = value
    if not name:
        raise UsageError(f"--probe {text!r} names no probe", hint="as in perf-record:frequency=999")
    return ProbeRequest(name=name, options=options)


class ProbeOptions:
    """Options of one request. Read every option, then call `finish`, which refuses those that nobody read.

    Args:
        probe: Name of the probe.
        options: Values by name. Those of a command line are texts.
    """

    def __init__(self, probe: str, options: Mapping[str, JsonValue]) -> None:
        self._probe = probe
        self._options = options
        self._known: set[str] = set()

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number.

        Raises:
            UsageError: It is none, or not from `low` to `high`.
        """
        value = self._read(name)
        if value is None:
            return default
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= len(str(high)):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._wrong(name, value, f"give a whole number from {low} to {high}")
        return value

    def choice(self, name: str, default: str, known: Collection[str]) -> str:
        """Return one of several words.

        Raises:
            UsageError: It is another.
        """
        value = self._read(name)
        if value is None:
            return default
        if value not in known:
            raise self._wrong(name, value, suggest(str(value), known) or f"known: {', '.join(known)}")
        return str(value)

    def text(self, name: str) -> str | None:
        """Return a text; None where there is none.

        Raises:
            UsageError: It is none, or has characters that cannot be shown.
        """
        value = self._read(name)
        if value is not None and not (isinstance(value, str) and value and value.isprintable()):
            raise self._wrong(name, value, "give a text")
        return value if isinstance(value, str) else None

    def words(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list of words, which a command line joins by `+`.

        Raises:
            UsageError: It is none, or has characters that cannot be shown.
        """
        value = self._read(name)
        if value is None:
            return default
        items = value.split("+") if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            raise self._wrong(name, value, "give a list of words")
        words = tuple(item.strip() for item in items if isinstance(item, str))
        if len(words) != len(items) or not all(word and word.isprintable() for word in words):
            raise self._wrong(name, value, "give a list of words")
        return words

    def finish(self) -> None:
        """Refuse options that nobody read.

        Raises:
            UsageError: There is one.
        """
        for name in self._options:
            if name not in self._known:
                known = sorted(self._known)
                hint = suggest(name, known) or f"options of {self._probe}: {', '.join(known)}"
                raise UsageError(f"the probe {self._probe} has no option {name!r}", hint=hint)

    def _read(self, name: str) -> JsonValue:
        self._known.add(name)
        return self._options.get(name)

    def _wrong(self, name: str, value: JsonValue, hint: str) -> UsageError:
        shown = repr(value)
        shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
        return UsageError(f"option `{name}` of the probe {self._probe}: {shown} cannot be used", hint=hint)


def check_types(request: ProbeRequest, probe: str, known: Collection[str]) -> tuple[str, ...]:
    """Return what a request wants to observe.

    Raises:
        UsageError: The probe observes no such thing.
    """
    for word in request.types:
        if word not in known:
            hint = suggest(word, known) or f"{probe} observes {', '.join(known)}"
            raise UsageError(f"the probe {probe} does not observe {word!r}", hint=hint)
    return request.types
