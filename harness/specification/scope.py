"""The names that the templates of one benchmark may use."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from harness.core.placeholders import PlaceholderProblem, find_placeholders, substitute
from harness.specification.problems import Findings

BUILT_IN = frozenset(
    ("TGTDIR", "HOSTDIR", "FAIPEPROOT", "DEVICEHASH", "BUILDDIR", "INDEX", "TEMPDIR", "MODEL_DIR", "program")
)
"""Names that get their value when the program is started (FAI-PEP's, framework_base.py and benchmarks.py)."""

_LONGEST = 1_000_000
"""Characters. Values that name each other can double thirty times within one line."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Values known now, names known later, and where to say what is wrong.

    Attributes:
        values: Value of each placeholder that is known at load; may contain placeholders.
        later: Names that get their value when the program is started.
        findings: Collects what is wrong.
    """

    values: Mapping[str, str]
    later: frozenset[str]
    findings: Findings

    def settled(self, template: str, pointer: str) -> str:
        """The text of a place that must be known now; nothing is left to be replaced."""
        return self._replaced(template, pointer, frozenset())

    def partly(self, template: str, pointer: str) -> str:
        """The text with what is known now filled in; what is known later, and `{{word}}`, stay as they are."""
        return self._replaced(template, pointer, self.later)

    def command(self, template: str, pointer: str) -> str:
        """A command line as it stands, after a look at its placeholders and quotes."""
        self._replaced(template, pointer, self.later)
        try:
            shlex.split(template)
        except ValueError as error:
            self.findings.add(pointer, f"the command line cannot be split into words: {str(error).lower()}")
        return template

    def _replaced(self, template: str, pointer: str, later: frozenset[str]) -> str:
        if self._length(template, {}) > _LONGEST:
            self.findings.add(pointer, f"the text is longer than {_LONGEST} characters when placeholders are replaced")
            return template
        try:
            return substitute(template, self.values, later)
        except PlaceholderProblem as problem:
            self._tell(problem, pointer)
            return template

    def _tell(self, problem: PlaceholderProblem, pointer: str) -> None:
        name = problem.name
        if name in self.values:
            self.findings.add(pointer, problem.message)
        elif name in self.later:
            message = f"placeholder {{{name}}} gets its value when the program is started, too late for this place"
            self.findings.add(pointer, message)
        else:
            near = difflib.get_close_matches(name, sorted({*self.values, *self.later}), n=1, cutoff=0.75)
            remedy = f"define {{{name}}} as a key of the model or test, as an axis or with --string_map"
            program = f"; if it is a program, give it with --program {name}=PATH"
            self.findings.add(pointer, problem.message, f"did you mean {{{near[0]}}}?" if near else remedy + program)

    def _length(self, template: str, known: dict[str, int]) -> int:
        """Length of the text with all values filled in; what refers to itself counts once."""
        total = len(template)
        for name in find_placeholders(template):
            if name in self.values and name not in known:
                known[name] = 0
                known[name] = self._length(self.values[name], known)
            total += known.get(name, 0)
        return total
