"""Loading of specifications: read the files, follow lists, check, expand.

All problems of all files are reported at once.
"""

from __future__ import annotations

import codecs
import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import JsonValue

from harness.core.benchmark import Benchmark, SpecificationPlace
from harness.core.errors import Problem
from harness.core.placeholders import find_placeholders
from harness.core.scalars import format_scalar
from harness.files.reading import read_bounded
from harness.specification.check import check_list, check_specification, is_list
from harness.specification.document import Findings, Problems, SpecificationDocument, join
from harness.specification.expand import SpecificationContext, expand
from harness.specification.file_format import ModelSection
from harness.specification.json_syntax import read_json
from harness.specification.load_options import LoadOptions
from harness.specification.sections import keys_of

__all__ = ["LoadOptions", "LoadedSpecifications", "default_args", "load"]


_MEMBERS: Final = frozenset({"model", "tests", "benchmarks"})
"""Members by which a specification or a list of them is recognised among other files."""

FLAGS_WITHOUT_OPTION: Final = frozenset({"config_dir", "exec_dir", "frameworks_dir", "info", "reset_options"})
"""Flags of the harness that are no options: only the command line sets them."""


class LoadedSpecifications(Struct, frozen=True):
    """Benchmarks and defaults of specification files.

    Attributes:
        benchmarks: Every benchmark, in file order.
        default_args: Defaults of command-line flags.
    """

    benchmarks: tuple[Benchmark, ...]
    default_args: Mapping[str, JsonValue]


def load(
    files: Sequence[Path | SpecificationDocument],
    options: LoadOptions | None = None,
    examine: Callable[[Sequence[Benchmark]], Iterable[Problem]] | None = None,
) -> LoadedSpecifications:
    """Load specifications and lists of specifications.

    Args:
        files: The files, YAML when they end in `.yaml` or `.yml`, else JSON; or documents that have been read already.
        options: Options of the caller.
        examine: Finds further problems of the benchmarks, to be reported beside those that there are; not called where
            there are none.

    Raises:
        SpecificationError: With every problem of every file.
    """
    options = options or LoadOptions()
    problems = Problems()
    defaults = SpecificationDocument(Path("--info"), dict(options.meta), {})
    documents: list[SpecificationDocument] = []
    benchmarks: list[Benchmark] = []
    for file in files:
        document = file if isinstance(file, SpecificationDocument) else _read(file, problems)
        if document is not None:
            documents.append(document)
            for specification in _follow(document, defaults, problems):
                benchmarks += _expand(specification, options, problems)
    _check_unique(benchmarks, problems)
    flags = _merge_default_args(documents, options.protected_flags, problems)
    if len(problems) > 0 and examine is not None:
        problems.extend(examine(benchmarks))
    problems.raise_if_any()
    return LoadedSpecifications(tuple(benchmarks), flags)


def default_args(
    files: Sequence[Path | SpecificationDocument], protected_flags: frozenset[str]
) -> Mapping[str, JsonValue]:
    """Read only the defaults of command-line flags, which must be known before `LoadOptions` can be made.

    Other problems of the files are left to `load`.

    Args:
        files: The files.
        protected_flags: See `LoadOptions.protected_flags`.

    Raises:
        SpecificationError: Two files give one flag different defaults, or a file sets a protected flag.
    """
    ignored, problems = Problems(), Problems()
    read = (file if isinstance(file, SpecificationDocument) else _read(file, ignored) for file in files)
    documents = [document for document in read if document is not None]
    flags = _merge_default_args(documents, protected_flags, problems)
    problems.raise_if_any()
    return flags


def is_specification(file: Path) -> bool:
    """Return whether a file is meant as a specification or a list of them; one that cannot be read counts as one."""
    document = _read(file, Problems())
    return document is None or (isinstance(document.value, dict) and not _MEMBERS.isdisjoint(document.value))


def name_model(file: Path) -> tuple[str, str]:
    """Return framework and format that a specification names for its model, valid or not; empty texts where none."""
    document = _read(file, Problems())
    model = None if document is None else document.member("model").value
    names = model if isinstance(model, dict) else {}
    framework, model_format = (names.get(key) for key in ("framework", "format"))
    return (
        framework if isinstance(framework, str) else "",
        model_format if isinstance(model_format, str) else "",
    )


class _ListedSpecification(Struct, frozen=True):
    """Specification whose model has the defaults of the lists around it.

    Attributes:
        document: The specification.
        meta: Values of the lists that are no keys of a model; reported with the results.
    """

    document: SpecificationDocument
    meta: Mapping[str, JsonValue]


def _read(file: Path, problems: Problems, reference: SpecificationPlace | None = None) -> SpecificationDocument | None:
    """Read one file, which may be named at a place in another file; None when it cannot be read."""
    text = _read_text(file, problems, reference or SpecificationPlace(file=file))
    if text is None:
        return None
    if text.startswith("#!"):
        problems.add(SpecificationPlace(file=file), "a script, and no specification", _PROGRAM_HINT)
        return None
    if file.suffix.lower() in (".yaml", ".yml"):
        # Most specifications are JSON; they do not pay for the import.
        from harness.specification.yaml_syntax import read_yaml  # noqa: PLC0415

        return read_yaml(file, text, problems)
    return read_json(file, text, problems)


def _read_text(file: Path, problems: Problems, reference: SpecificationPlace) -> str | None:
    place = SpecificationPlace(file=file)
    try:
        content = read_bounded(file)
        if not _is_binary(content):
            return content.decode("utf-8-sig")
        problems.add(place, "a binary file, and no specification", _suggest_for_binary(file))
    except OSError as error:
        reason = error.strerror or str(error)
        problems.add(reference, f"cannot read {file}: {reason[:1].lower()}{reason[1:]}", _suggest_readable(file))
    except UnicodeDecodeError as error:
        hint = _PROGRAM_HINT if os.access(file, os.X_OK) else "save the file as UTF-8"
        problems.add(place, f"not UTF-8 text (byte {error.start})", hint)
    except ValueError:  # a NUL byte in the name
        problems.add(reference, f"{str(file)!r} cannot be the name of a file")
    return None


_PROGRAM_HINT: Final = (
    "a program is named by --program, and two that are compared by --control-program and --treatment-program; the "
    "specification says how they start"
)


def _suggest_readable(file: Path) -> str | None:
    if os.path.isdir(file):  # noqa: PTH112 - `Path.is_dir` raises for long names
        return "give a specification in this folder"
    if not os.path.isfile(file):  # noqa: PTH113 - `Path.is_file` raises for long names
        return _suggest_neighbour(file)
    try:
        with file.open("rb") as stream:
            return _suggest_for_binary(file) if _is_binary(stream.read(4096)) else None
    except OSError:
        return None


def _is_binary(content: bytes) -> bool:
    """Return whether content is no text in any encoding; UTF-16 has NUL bytes, too."""
    return b"\0" in content and not content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def _suggest_for_binary(file: Path) -> str:
    if os.access(file, os.X_OK):
        return _PROGRAM_HINT
    entry = json.dumps({"filename": file.name, "location": str(file)}, ensure_ascii=False)
    return f'the file of a model is named by a specification: `"files": {{"model": {entry}}}` in its `model`'


def _suggest_neighbour(file: Path) -> str | None:
    try:
        names = sorted(entry.name for entry in file.parent.iterdir() if entry.name != file.name)
    except (OSError, ValueError):
        return None
    similar = difflib.get_close_matches(file.name, names, n=1)
    return f"did you mean {file.parent / similar[0]}?" if similar else None


def _follow(
    document: SpecificationDocument, defaults: SpecificationDocument, problems: Problems, lists: tuple[str, ...] = ()
) -> Iterator[_ListedSpecification]:
    """Yield every specification that a document is or lists, at any depth.

    Args:
        document: A specification, or a list.
        defaults: Defaults for every model, from outside the document.
        problems: Collects problems.
        lists: The lists that led here.
    """
    findings = Findings(document, problems)
    if lists and isinstance(document.value, dict) and "default_args" in document.value:
        message = "`default_args` is used only in the file that is given on the command line"
        findings.add("/default_args", message, f"move it to {lists[0]}")
    if not is_list(document):
        known = keys_of(ModelSection)
        values = defaults.value if isinstance(defaults.value, dict) else {}
        meta = {key: value for key, value in values.items() if key not in known}
        yield _ListedSpecification(document.with_member_defaults("model", defaults.restrict(known)), meta)
        return
    check_list(findings)
    inner_defaults = document.member("meta").with_defaults(defaults)
    entries = document.value.get("benchmarks") if isinstance(document.value, dict) else None
    for index, name in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(name, str) and name:
            place = document.place(join("/benchmarks", index))
            yield from _follow_entry(document.file, name, place, inner_defaults, (problems, lists))


def _follow_entry(
    list_file: Path,
    name: str,
    place: SpecificationPlace,
    defaults: SpecificationDocument,
    state: tuple[Problems, tuple[str, ...]],
) -> Iterator[_ListedSpecification]:
    problems, lists = state
    file = Path(os.path.normpath(list_file.parent / name))
    chain = (*lists, str(list_file))
    if str(file) in chain:
        problems.add(place, "the list contains itself: " + " -> ".join((*chain, str(file))), "remove this entry")
        return
    document = _read(file, problems, place)
    if document is not None:
        yield from _follow(document, defaults, problems, chain)


def _expand(specification: _ListedSpecification, options: LoadOptions, problems: Problems) -> Iterator[Benchmark]:
    findings = Findings(specification.document, problems)
    templates = (options.command_args, *(format_scalar(value) for value in options.string_map.values()))
    parts = check_specification(findings, [name for template in templates for name in find_placeholders(template)])
    if parts is not None:
        yield from expand(SpecificationContext(parts, specification.meta, options, findings))


def _check_unique(benchmarks: Sequence[Benchmark], problems: Problems) -> None:
    """Report benchmarks with the same model and identifier, by which results are distinguished."""
    by_title: dict[tuple[str, str], Benchmark] = {}
    for benchmark in benchmarks:
        first = by_title.setdefault((benchmark.model.name, benchmark.identifier), benchmark)
        is_reported = len(problems) > 0 and find_placeholders(benchmark.identifier)  # an unknown placeholder in both
        if first is benchmark or is_reported:
            continue
        place = benchmark.origin
        if first.id == benchmark.id and first.origin == place:
            problems.add(place, f"{place.file} is loaded twice", "name it once")
        elif first.origin == place:
            message = f"several benchmarks of this test are called `{benchmark.title}`"
            problems.add(place, message, _suggest_identifier(benchmark))
        else:
            message = f"two benchmarks are called `{benchmark.title}` (the other is at {first.origin})"
            is_one_file = first.origin.file == place.file
            problems.add(place, message, _suggest_identifier(benchmark) if is_one_file else _SEVERAL_FILES_HINT)


_SEVERAL_FILES_HINT: Final = (
    "results are told apart by model and identifier: give one of them another identifier or model name, or run each "
    "file by itself, as `harness validate --each` checks them"
)


def _suggest_identifier(benchmark: Benchmark) -> str:
    axes = [f"{{{axis}}}" for axis in benchmark.axes]
    shapes = [f"{{inputs.{tensor.name}.shape}}" for tensor in benchmark.inputs[:1]]
    return "use " + " or ".join(("{ID}", *axes, *shapes)) + " in the identifier"


def _merge_default_args(
    documents: Sequence[SpecificationDocument], protected_flags: frozenset[str], problems: Problems
) -> Mapping[str, JsonValue]:
    defaults: dict[str, JsonValue] = {}
    for document in documents:
        flags = document.member("default_args").value
        for flag, value in flags.items() if isinstance(flags, dict) else ():
            place = document.place(join("/default_args", flag))
            if flag.lstrip("-").replace("-", "_") in protected_flags | FLAGS_WITHOUT_OPTION:
                message = (
                    f"a specification may not set `{flag}`, which decides where results go, which files are touched "
                    "or what is run"
                )
                hint = "remove it here, and give it on the command line or save it as your own default (`harness init`)"
                problems.add(place, message, hint)
            if defaults.setdefault(flag, value) != value:
                message = f"`default_args` sets `{flag}` to another value than an earlier file"
                problems.add(place, message, "keep one of them")
    return defaults
