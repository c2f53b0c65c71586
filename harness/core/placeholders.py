"""Substitution of `{placeholder}`s, both when loading (known names) and when launching (paths on the device).

Syntax: `{name}` with word characters and dots (`{files.model}`, `{iter}`), FAI-PEP's.
`<ID>` is another spelling of `{ID}`.
`{{word}}` stands for a literal `{word}`. Braces around anything else, such as JSON, are left alone.
Values may contain placeholders themselves; they are replaced until nothing changes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping

_PLACEHOLDER = re.compile(r"\{\{([\w.]+)\}\}|\{([\w.]+)\}|<(ID)>")


class PlaceholderProblem(Exception):
    """Placeholder that cannot be replaced.

    Attributes:
        name: The placeholder, without braces.
        message: The problem.
        hint: A similar name, or the list of known names.
    """

    def __init__(self, name: str, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.name = name
        self.message = message
        self.hint = hint


def find_placeholders(template: str) -> tuple[str, ...]:
    """List the placeholders of a template, in order, without braces."""
    return tuple(match[2] or match[3] for match in _PLACEHOLDER.finditer(template) if not match[1])


def suggest(word: str, known: Collection[str]) -> str | None:
    """Return `did you mean ...?` for a word that is close to a known one, else None."""
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None


def substitute(template: str, values: Mapping[str, str], later: Collection[str] = ()) -> str:
    """Replace every placeholder of `template`.

    Args:
        template: Text with placeholders.
        values: Value of each placeholder; values may contain placeholders.
        later: Names that get their value later, on the device; they and literal `{{word}}` are left unchanged.
            Empty means that this is the last pass, in which `{{word}}` becomes `{word}`.

    Raises:
        PlaceholderProblem: A name is unknown, or refers to itself.
    """
    return _substitute(template, values, frozenset(later), ())


def _substitute(template: str, values: Mapping[str, str], later: frozenset[str], within: tuple[str, ...]) -> str:
    def replace(match: re.Match[str]) -> str:
        literal, name = match[1], match[2] or match[3]
        if literal is not None:
            return match[0] if later else f"{{{literal}}}"
        if name in within:
            chain = " -> ".join(f"{{{step}}}" for step in (*within[within.index(name) :], name))
            raise PlaceholderProblem(name, f"placeholder {{{name}}} refers to itself: {chain}")
        if name in values:
            return _substitute(values[name], values, later, (*within, name))
        if name in later:
            return match[0]
        known = {*values, *later}
        raise PlaceholderProblem(name, f"unknown placeholder {{{name}}}", suggest(name, known) or _list_known(known))

    return _PLACEHOLDER.sub(replace, template)


def _list_known(known: Collection[str]) -> str:
    return "known here: " + ", ".join(f"{{{name}}}" for name in sorted(known))
