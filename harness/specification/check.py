"""Checks of a document: its structure, unknown keys, and features that are not supported.

A specification with a wrong structure is checked as far as possible, so that one run reports everything: a wrong test
is left out, and so is a wrong part of the model.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from pydantic import JsonValue, ValidationError

from harness.core.placeholders import find_placeholders, suggest
from harness.specification.document import Findings, SpecificationDocument, join
from harness.specification.file_format import ModelSection, Specification, SpecificationList, Test
from harness.specification.generation import check_generation
from harness.specification.power import check_power
from harness.specification.scenario import check_scenario
from harness.specification.sections import PlatformArgs, Section, Step, keys_of, walk_entries

UNSUPPORTED: Mapping[type[Section], Mapping[str, str]] = {
    ModelSection: {},
    Test: {
        "degrade": "degrading a device is",
        **dict.fromkeys(("monsoon", "collection_time", "voltage"), "a power meter outside a test of `power` is"),
    },
    PlatformArgs: {
        **dict.fromkeys(("enable_profiling", "profiler_args"), "profiling by arguments of a platform is"),
        "non_blocking": "a program that outlives its launch is",
        "power": "launching an app without waiting for it is",
        "shell": "running commands through a shell is",
        "retry": "retrying a failed program is",
        "retry_sleep": "retrying a failed program is",
        "ignore_status": "treating a failure as success is",
        **dict.fromkeys(("silent", "patterns", "filter", "process_key"), "this is"),
    },
}
"""Features of FAI-PEP that affect a measurement and are not supported here."""

_ARGS_OF_METERS = ("non_blocking", "power")
"""`platform_args` of FAI-PEP's tests of power: it started the program and the meter beside it, as launches here do."""

_FILE_KEYS = ("files", "libraries")

_Path = tuple[str | int, ...]


class ValidParts(Struct, frozen=True):
    """Parts of a specification that are valid.

    Attributes:
        model: The model without its invalid parts.
        tests: The valid tests by their index in the file.
        undefined: Names that the invalid parts would have defined.
    """

    model: ModelSection
    tests: Mapping[int, Test]
    undefined: frozenset[str] = frozenset()


def check_specification(findings: Findings, used: Collection[str] = ()) -> ValidParts | None:
    """Check a specification.

    Args:
        findings: Its document; collects problems.
        used: Placeholders in text from outside the document.

    Returns:
        What can be used for further checks, or None when there is nothing.
    """
    unknown = set(_check_keys(findings, used))
    try:
        specification = Specification.model_validate(findings.document.value)
    except ValidationError as error:
        parts = _valid_parts(findings.document.value, _explain(findings, unknown, error))
    else:
        parts = ValidParts(specification.model, dict(enumerate(specification.tests)))
    if parts is not None:
        _check_support(parts, findings)
    return parts


def check_list(findings: Findings) -> SpecificationList | None:
    """Check a list of specifications; return None when its structure is wrong."""
    try:
        specifications = SpecificationList.model_validate(findings.document.value)
    except ValidationError as error:
        _explain(findings, set(), error)
        return None
    known = keys_of(ModelSection)
    for key in specifications.meta:
        similar = difflib.get_close_matches(key, known, n=1, cutoff=0.8) if key not in known else None
        if similar:
            findings.add(
                join("", "meta", key), f"`{key}` in `meta` is not a key of a model", f"did you mean `{similar[0]}`?"
            )
    return specifications


def is_list(document: SpecificationDocument) -> bool:
    """Return whether a document is a list of specifications."""
    return isinstance(document.value, dict) and "benchmarks" in document.value


def _explain(findings: Findings, known: Collection[str], error: ValidationError) -> Collection[_Path]:
    """Explain what pydantic refused; return the paths to it."""
    # Only a refused document pays for jsonschema (0.1 s).
    from harness.specification.explain import explain  # noqa: PLC0415

    paths = explain(findings, known)
    if paths:
        return paths
    for detail in error.errors():
        findings.add(join("", *detail["loc"]), f"{detail['msg'][:1].lower()}{detail['msg'][1:]}")
    return [detail["loc"] for detail in error.errors()]


def _valid_parts(value: JsonValue, invalid: Iterable[_Path]) -> ValidParts | None:
    """Keep what is certainly independent of the invalid places; None where nothing can be checked further."""
    if not isinstance(value, dict) or not isinstance(value.get("model"), dict):
        return None
    members = dict(value["model"]) if isinstance(value["model"], dict) else {}
    undefined: set[str] = set()
    for path in invalid:
        if len(path) > 1 and path[0] == "model":
            undefined |= _drop(members, path[1:])
    tests = value.get("tests")
    valid: dict[int, Test] = {}
    with contextlib.suppress(ValidationError):
        model = ModelSection.model_validate(members)
        for index, test in enumerate(tests if isinstance(tests, list) else ()):
            with contextlib.suppress(ValidationError):
                valid[index] = Test.model_validate(test)
        return ValidParts(model, valid, frozenset(undefined))
    return None


def _drop(members: dict[str, JsonValue], path: _Path) -> set[str]:
    """Drop the member that a path leads through, of files only the invalid one; return the names it defined."""
    key = str(path[0])
    inner = members.get(key)
    if key in _FILE_KEYS and isinstance(inner, dict) and len(path) > 1:
        members[key] = {name: entry for name, entry in inner.items() if name != path[1]}
        return {f"{key}.{path[1]}"}
    members.pop(key, None)
    return {key, *(f"{key}.{name}" for name in (inner if isinstance(inner, dict) else ()))}


def _check_keys(findings: Findings, used: Collection[str]) -> Iterator[str]:
    """Report keys of model and tests that are neither known nor used by a placeholder; yield their pointers."""
    value = findings.document.value if isinstance(findings.document.value, dict) else {}
    tests = value.get("tests")
    sections: list[tuple[str, type[Section], JsonValue]] = [("/model", ModelSection, value.get("model"))]
    sections += [
        (join("/tests", index), Test, test) for index, test in enumerate(tests if isinstance(tests, list) else ())
    ]
    used = {*used, *_placeholders_within(value)}
    for pointer, section, members in sections:
        known = keys_of(section)
        for key in members if isinstance(members, dict) else ():
            if key not in known and key not in used:
                hint = suggest(key, known) or f"a key of your own is allowed when a placeholder uses it: {{{key}}}"
                findings.add(join(pointer, key), f"unknown key `{key}`", hint)
                yield join(pointer, key)


def _placeholders_within(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield from find_placeholders(value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _placeholders_within(item)


def _check_support(parts: ValidParts, findings: Findings) -> None:
    _check_section(parts.model, "/model", findings)
    for index, test in parts.tests.items():
        pointer = join("/tests", index)
        _check_section(test, pointer, findings)
        for _, here, output in walk_entries(test.output_files, "", join(pointer, "output_files")):
            if output.upload:
                findings.add(join(here, "upload"), "uploading is not supported yet", "remove `upload`")
            if output.md5:
                message = "checking the MD5 of an output file is not supported yet"
                findings.add(join(here, "md5"), message, "compare it in `postprocess`")


def _check_section(section: ModelSection | Test, pointer: str, findings: Findings) -> None:
    if isinstance(section, Test):
        check_power(section, pointer, findings)
        check_generation(section, pointer, findings)
        check_scenario(section, pointer, findings)
    _refuse_unsupported(section, pointer, findings, section.meter_keys if isinstance(section, Test) else ())
    if section.platform_args is not None:
        accepted = _ARGS_OF_METERS if isinstance(section, Test) and section.is_metered else ()
        _refuse_unsupported(section.platform_args, join(pointer, "platform_args"), findings, accepted)
    for key, step in (("preprocess", section.preprocess), ("postprocess", section.postprocess)):
        if step is not None:
            _check_step(step, join(pointer, key), findings)


def _check_step(step: Step, pointer: str, findings: Findings) -> None:
    for name in sorted((step.platform_args or PlatformArgs()).model_fields_set - {"timeout"}):
        message = f"`{name}` is not supported for commands on the host"
        findings.add(join(pointer, "platform_args", name), message, "only `timeout` is")
    if step.commands is not None and step.command is not None:
        findings.add(join(pointer, "command"), "`commands` and `command` are both given", "keep one of them")
    if step.files and not step.commands and not step.command:
        findings.add(join(pointer, "files"), "the step has files but no commands that use them", "add `commands`")


def _refuse_unsupported(section: Section, pointer: str, findings: Findings, accepted: Collection[str]) -> None:
    for key, what in UNSUPPORTED[type(section)].items():
        value = getattr(section, key)
        is_off = value in (None, False) or (isinstance(value, dict) and value.get("enabled") is False)
        if not is_off and key not in accepted:
            findings.add(join(pointer, key), f"{what} not supported yet (`{key}`)", f"remove `{key}`")
