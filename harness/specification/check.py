"""Whether a document is a specification: its form, its keys, and what we cannot do yet."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from harness.core.placeholders import find_placeholders, suggest
from harness.specification.document import Document, join
from harness.specification.file_format import ModelSection, Specification, SpecificationList, Test
from harness.specification.files import keyed
from harness.specification.partial import Path, salvaged
from harness.specification.problems import Findings
from harness.specification.sections import PlatformArgs, Section, Step, keys_of

_UNSUPPORTED: Mapping[type[Section], Mapping[str, str]] = {
    ModelSection: {},
    Test: {
        "profiler": "profilers are",
        "degrade": "degrading a device is",
        "monsoon": "a power meter beside the device is",
        "collection_time": "collecting for a given time is",
        "voltage": "choosing the voltage is",
    },
    PlatformArgs: {
        **dict.fromkeys(("enable_profiling", "profiler_args"), "profilers are"),
        "non_blocking": "a program that outlives its launch is",
        "power": "launching an app without waiting for it is",
        "shell": "running commands through a shell is",
        "retry": "trying a failed program again is",
        "retry_sleep": "trying a failed program again is",
        "ignore_status": "taking a failure for success is",
        **dict.fromkeys(("silent", "patterns", "filter", "process_key"), "this is"),
    },
}
"""FAI-PEP's features that mean something to a measurement and that we do not have."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What of a specification has the right form.

    Attributes:
        model: The model.
        tests: The tests by their index in the file.
        lost: Names that would have been defined by what had to be left out.
    """

    model: ModelSection
    tests: Mapping[int, Test]
    lost: frozenset[str] = frozenset()


def checked(findings: Findings, used: Collection[str] = ()) -> Checked | None:
    """Check a specification.

    Args:
        findings: Its document; collects what is wrong.
        used: Placeholders that text from outside the document uses.

    Returns:
        What can be used for further checks, or None when there is nothing.
    """
    unknown = set(_unknown_keys(findings, used))
    try:
        found = Specification.model_validate(findings.document.value)
    except ValidationError as error:
        parts = salvaged(findings.document.value, _explain(findings, unknown, error))
        usable = Checked(parts.model, parts.tests, parts.lost) if parts is not None else None
    else:
        usable = Checked(found.model, dict(enumerate(found.tests)))
    if usable is not None:
        _check_supported(usable, findings)
    return usable


def checked_list(findings: Findings) -> SpecificationList | None:
    """Check a list of specifications; None when its form is wrong."""
    try:
        found = SpecificationList.model_validate(findings.document.value)
    except ValidationError as error:
        _explain(findings, set(), error)
        return None
    known = keys_of(ModelSection)
    for key in found.meta:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.8) if key not in known else None
        if near:
            findings.add(join("", "meta", key), f"`{key}` in meta is no key of a model", f"did you mean `{near[0]}`?")
    return found


def is_list(document: Document) -> bool:
    """Whether a document is a list of specifications."""
    return isinstance(document.value, dict) and "benchmarks" in document.value


def _explain(findings: Findings, known: Collection[str], error: ValidationError) -> Collection[Path]:
    """Tell what pydantic refused; returns the paths to it."""
    # Only a refused document pays for jsonschema (0.1 s).
    from harness.specification.explain import explain  # noqa: PLC0415

    paths = explain(findings, known)
    if paths:
        return paths
    for detail in error.errors():  # JSON Schema takes 1.0 for an integer, we do not
        findings.add(join("", *detail["loc"]), f"{detail['msg'][:1].lower()}{detail['msg'][1:]}")
    return [detail["loc"] for detail in error.errors()]


def _unknown_keys(findings: Findings, used: Collection[str]) -> Iterator[str]:
    """Keys of model and tests that we do not know and that no placeholder uses: slips, most likely."""
    value = findings.document.value if isinstance(findings.document.value, dict) else {}
    tests = value.get("tests")
    sections: list[tuple[str, type[Section], JsonValue]] = [("/model", ModelSection, value.get("model"))]
    sections += [
        (join("/tests", index), Test, test) for index, test in enumerate(tests if isinstance(tests, list) else ())
    ]
    used = {*used, *_used_names(value)}
    for pointer, section, members in sections:
        known = keys_of(section)
        for key in members if isinstance(members, dict) else ():
            if key not in known and key not in used:
                hint = suggest(key, known) or f"a key of your own is allowed when a placeholder uses it: {{{key}}}"
                findings.add(join(pointer, key), f"unknown key `{key}`", hint)
                yield join(pointer, key)


def _used_names(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield from find_placeholders(value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _used_names(item)


def _check_supported(usable: Checked, findings: Findings) -> None:
    _check_section(usable.model, "/model", findings)
    for index, test in usable.tests.items():
        pointer = join("/tests", index)
        _check_section(test, pointer, findings)
        for _, here, output in keyed(test.output_files, "", join(pointer, "output_files")):
            if output.upload:
                findings.add(join(here, "upload"), "uploading is not supported yet", "remove `upload`")
            if output.md5:
                message = "checking the MD5 of an output file is not supported yet"
                findings.add(join(here, "md5"), message, "compare it in `postprocess`")


def _check_section(section: ModelSection | Test, pointer: str, findings: Findings) -> None:
    _refuse_unsupported(section, pointer, findings)
    if section.platform_args is not None:
        _refuse_unsupported(section.platform_args, join(pointer, "platform_args"), findings)
    for key, step in (("preprocess", section.preprocess), ("postprocess", section.postprocess)):
        if step is not None:
            _check_step(step, join(pointer, key), findings)


def _check_step(step: Step, pointer: str, findings: Findings) -> None:
    for name in sorted((step.platform_args or PlatformArgs()).model_fields_set - {"timeout"}):
        message = f"`{name}` is not supported for commands on the host"
        findings.add(join(pointer, "platform_args", name), message, "only `timeout` is")
    if step.commands is not None and step.command is not None:
        findings.add(join(pointer, "command"), "`command` beside `commands`", "keep one of them")
    if step.files and not step.commands and not step.command:
        findings.add(join(pointer, "files"), "files without commands that use them", "add `commands`")


def _refuse_unsupported(section: Section, pointer: str, findings: Findings) -> None:
    for key, what in _UNSUPPORTED[type(section)].items():
        value = getattr(section, key)
        off = value in (None, False) or (isinstance(value, dict) and value.get("enabled") is False)
        if not off:
            findings.add(join(pointer, key), f"{what} not supported yet (`{key}`)", f"remove `{key}`")
