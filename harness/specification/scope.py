"""Placeholders of one benchmark: the names that its templates may use, their values, and their substitution."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Mapping

from msgspec import Struct
from pydantic import JsonValue

from harness.core.generation import GenerationRequest
from harness.core.placeholders import PlaceholderProblem, find_placeholders, substitute
from harness.core.scalars import Scalar, format_scalar
from harness.core.scenario import SCENARIO
from harness.specification.document import Findings
from harness.specification.file_format import ModelSection, Test, scalar_members
from harness.specification.sections import FileEntry, Files, Many, Outputs, walk_entries

BUILT_IN = frozenset(
    ("TGTDIR", "HOSTDIR", "FAIPEPROOT", "DEVICEHASH", "BUILDDIR", "INDEX", "TEMPDIR", "MODEL_DIR", "program", *SCENARIO)
)
"""Names that get their value when the program is started (FAI-PEP's, framework_base.py and benchmarks.py; and ours)."""

_LONGEST_TEXT = 1_000_000
"""Characters. Values that name each other can double thirty times within one line."""


class PlaceholderScope(Struct, frozen=True):
    """Placeholders that are known now, and those that are known later.

    Attributes:
        values: Value of each placeholder that is known at load time; may contain placeholders.
        later: Names that get their value when the program is started.
        findings: Collects problems.
    """

    values: Mapping[str, str]
    later: frozenset[str]
    findings: Findings

    def resolve(self, template: str, pointer: str) -> str:
        """Replace every placeholder of a text that must be known at load time."""
        return self._substitute(template, pointer, frozenset())

    def resolve_known(self, template: str, pointer: str) -> str:
        """Replace the placeholders that are known now; those known later, and `{{word}}`, stay unchanged.

        The text is filled in once more when a program is started. What looks like a placeholder then, and is none of
        these, came of a value and the text around it.
        """
        text = self._substitute(template, pointer, self.later)
        unknown = [name for name in find_placeholders(text) if name not in self.later]
        if self.later and unknown and text != template:
            message = f"`{template}` becomes `{text}`, in which {{{unknown[0]}}} is an unknown placeholder"
            self.findings.add(pointer, message, "write the braces of one text in the same value")
        return text

    def check_command(self, template: str, pointer: str) -> str:
        """Check placeholders and quotes of a command line, and return it unchanged."""
        self._substitute(template, pointer, self.later)
        try:
            shlex.split(template)
        except ValueError as error:
            self.findings.add(pointer, f"the command line cannot be split into words: {str(error).lower()}")
        return template

    def _substitute(self, template: str, pointer: str, later: frozenset[str]) -> str:
        if self._length(template, {}) > _LONGEST_TEXT:
            message = f"the text is longer than {_LONGEST_TEXT} characters when placeholders are replaced"
            self.findings.add(pointer, message)
            return template
        try:
            return substitute(template, self.values, later)
        except PlaceholderProblem:
            for problem in self._find_problems(template, later):
                self._report(problem, pointer)
            return template

    def _find_problems(self, template: str, later: frozenset[str]) -> Iterator[PlaceholderProblem]:
        """Yield what is wrong with each placeholder of a text, and of the values that it refers to, once by name."""
        pending, seen, told = list(find_placeholders(template)), set[str](), set[str]()
        for name in pending:  # grows
            if name in seen:
                continue
            seen.add(name)
            try:
                substitute(f"{{{name}}}", self.values, later)
            except PlaceholderProblem as problem:
                if problem.name == name and name not in told:
                    told.update(find_placeholders(problem.message))  # a loop is one problem
                    yield problem
                pending.extend(find_placeholders(self.values.get(name, "")))

    def _report(self, problem: PlaceholderProblem, pointer: str) -> None:
        name = problem.name
        if name in self.values:
            self.findings.add(pointer, problem.message)
        elif name in self.later:
            message = f"placeholder {{{name}}} gets its value when the program is started, which is too late here"
            self.findings.add(pointer, message)
        else:
            similar = difflib.get_close_matches(name, sorted({*self.values, *self.later}), n=1, cutoff=0.75)
            remedy = f"define {{{name}}} as a key of the model or test, as an axis or with --string-map"
            program = f"; if it is a program, give it with --program {name}=PATH"
            self.findings.add(
                pointer, problem.message, f"did you mean {{{similar[0]}}}?" if similar else remedy + program
            )

    def _length(self, template: str, lengths: dict[str, int]) -> int:
        """Compute the length of a text with all values filled in; what refers to itself counts once."""
        total = len(template)
        for name in find_placeholders(template):
            if name in self.values and name not in lengths:
                lengths[name] = 0
                lengths[name] = self._length(self.values[name], lengths)
            total += lengths.get(name, 0)
        return total


def known_values(
    model: ModelSection, test: Test, axes: Mapping[str, Scalar], shape: int, meta: Mapping[str, JsonValue]
) -> dict[str, str]:
    """Return the placeholders that are known at load time. The later of meta, model, test and axes wins.

    Args:
        model: The model.
        test: The test, with its axes applied.
        axes: The matrix entry.
        shape: Index of the shape.
        meta: Additional values of lists and of the command line.
    """
    scalars: dict[str, Scalar] = {
        **{key: value for key, value in meta.items() if isinstance(value, str | bool | int | float)},
        **scalar_members(model),
        **scalar_members(test),
        "repeat": launch_count(model, test),
        "iter": test.iter,
        "warmup": test.warmup,
        "identifier": identifier_template(test),
        **({"metric": test.main_metric} if test.kinds else {}),
        **axes,
    }
    values = {name: format_scalar(value) for name, value in scalars.items()}
    for name, entry in test.inputs.items():
        values[f"inputs.{name}.shape"] = ",".join(str(size) for size in entry.dimensions(shape))
        values[f"inputs.{name}.type"] = entry.type
    return values | _generation_numbers(test) | _file_lists(model, test)


def file_names(model: ModelSection, test: Test) -> Iterator[str]:
    """Yield the placeholders of files, which get their paths when the program is started."""
    yield from (key for key, _, _ in walk_entries(test.output_files, "output_files", ""))
    for prefix, files in _file_sections(model, test):
        yield from (key for key, _, _ in walk_entries(files, prefix, ""))


def launch_count(model: ModelSection, test: Test) -> int:
    """Return how many times the program is started."""
    return test.repeat or model.repeat or 1


def identifier_template(test: Test) -> str:
    """Return the template of the identifier; only generic tests may leave it out."""
    return test.identifier or "{ID}"


def _generation_numbers(test: Test) -> dict[str, str]:
    """Return the numbers of tokens of a generation; a prompt that is a text has the tokens that its tokenizer makes."""
    entry = test.generation
    if entry is None:
        return {}
    numbers = {"new_tokens": entry.new_tokens, "depth": entry.depth}
    if entry.prompt is None:
        numbers["prompt_tokens"] = entry.prompt_tokens
    defaults = GenerationRequest()
    return {
        f"generation.{name}": str(getattr(defaults, name) if number is None else number)
        for name, number in numbers.items()
    }


def _file_lists(model: ModelSection, test: Test) -> dict[str, str]:
    """Return the value of each list of files: all of them, as separate words, as FAI-PEP joins them."""
    values: dict[str, str] = {}
    sections: list[tuple[str, Files | Many[FileEntry] | Outputs]] = [("output_files", test.output_files)]
    for prefix, files in (*sections, *_file_sections(model, test)):
        for name, entry in files.items() if isinstance(files, dict) else ():
            key = f"{prefix}.{name}"
            values.pop(key, None)  # files of the test replace those of the model
            if isinstance(entry, tuple):
                values[key] = " ".join(f"{{{key}.{number}}}" for number in range(len(entry)))
    return values


def _file_sections(model: ModelSection, test: Test) -> Iterator[tuple[str, Files | Many[FileEntry]]]:
    """Yield every place where files are named, with the prefix of their placeholders; the model before the test."""
    yield "files", model.files
    yield "files", test.files
    yield "libraries", model.libraries
    yield "input_files", test.input_files
    for section in (model, test):
        for step, prefix in ((section.preprocess, "preprocess"), (section.postprocess, "postprocess")):
            yield f"{prefix}.files", step.files if step is not None else {}
