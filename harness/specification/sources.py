"""Reading files, and following lists to the specifications they name."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from harness.core.benchmark import Origin
from harness.specification.check import checked_list, is_list
from harness.specification.document import Document, join
from harness.specification.file_format import ModelSection
from harness.specification.json_syntax import read_json
from harness.specification.problems import Findings, Problems
from harness.specification.sections import keys_of


@dataclass(frozen=True, slots=True)
class Source:
    """A specification, with what the lists around it say about its model filled in.

    Attributes:
        document: The specification.
        meta: What the lists say that is no key of a model; reported with the results.
    """

    document: Document
    meta: Mapping[str, JsonValue]


def read(file: Path, problems: Problems, asked: Origin | None = None) -> Document | None:
    """Read one file.

    Args:
        file: The file; `.yaml` and `.yml` are YAML, everything else is JSON.
        problems: Collects what is wrong.
        asked: The place that names the file, when another file does.

    Returns:
        Its content, or None when it cannot be read.
    """
    place = asked or Origin(file=file)
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        hint = "name a specification in it" if file.is_dir() else _neighbours(file)
        problems.add(place, f"cannot read {file}: {said}", hint)
        return None
    except UnicodeDecodeError as error:
        problems.add(Origin(file=file), f"not UTF-8 text (byte {error.start})", "save the file as UTF-8")
        return None
    except ValueError:  # a NUL byte in the name
        problems.add(place, f"{str(file)!r} cannot be the name of a file")
        return None
    if file.suffix.lower() in (".yaml", ".yml"):
        # Most specifications are JSON; they do not pay for the import.
        from harness.specification.yaml_syntax import read_yaml  # noqa: PLC0415

        return read_yaml(file, text, problems)
    return read_json(file, text, problems)


def specifications(
    document: Document, outer: Document, problems: Problems, around: tuple[str, ...] = ()
) -> Iterator[Source]:
    """Every specification that a document is or lists, at any depth.

    Args:
        document: A specification, or a list.
        outer: Defaults for every model, from outside the document.
        problems: Collects what is wrong.
        around: The lists that led here.
    """
    findings = Findings(document, problems)
    if around and isinstance(document.value, dict) and "default_args" in document.value:
        message = "`default_args` counts only in the file that the command line names"
        findings.add("/default_args", message, f"move it to {around[0]}")
    if not is_list(document):
        known = keys_of(ModelSection)
        free = outer.value if isinstance(outer.value, dict) else {}
        meta = {key: value for key, value in free.items() if key not in known}
        yield Source(document.filled("model", outer.only(known)), meta)
        return
    checked_list(findings)
    meta_here = document.part("meta").over(outer)
    listed = document.value.get("benchmarks") if isinstance(document.value, dict) else None
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(name, str) and name:
            place = document.place(join("/benchmarks", index))
            yield from _listed(document.file, name, place, meta_here, (problems, around))


def _listed(
    within: Path, name: str, place: Origin, meta: Document, progress: tuple[Problems, tuple[str, ...]]
) -> Iterator[Source]:
    problems, around = progress
    file = Path(os.path.normpath(within.parent / name))
    chain = (*around, str(within))
    if str(file) in chain:
        problems.add(place, "the list contains itself: " + " -> ".join((*chain, str(file))), "remove this entry")
        return
    document = read(file, problems, place)
    if document is not None:
        yield from specifications(document, meta, problems, chain)


def _neighbours(file: Path) -> str | None:
    """Names in the same folder that were perhaps meant."""
    try:
        names = sorted(entry.name for entry in file.parent.iterdir())
    except (OSError, ValueError):
        return None
    close = difflib.get_close_matches(file.name, names, n=1)
    return f"did you mean {file.parent / close[0]}?" if close else None
