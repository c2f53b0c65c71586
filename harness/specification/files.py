"""File entries of a specification to the files of one benchmark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from harness.core.benchmark import Export, HostStep, Input, ModelFile, OutputFile
from harness.core.placeholders import PlaceholderProblem, find_placeholders, substitute, suggest
from harness.core.values import Scalar
from harness.specification.document import join
from harness.specification.problems import Findings
from harness.specification.scope import Scope
from harness.specification.sections import (
    ExportEntry,
    ExportInput,
    FileEntry,
    Files,
    Many,
    OutputEntry,
    Outputs,
    Section,
    Step,
)

DTYPES = {
    **{name: name for name in ("float", "half", "double", "int8", "uint8", "int16", "int", "int64", "bool")},
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "long": "int64",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int16_t": "int16",
    "int32_t": "int",
    "int64_t": "int64",
}
"""Element types by the names in use: ours, FAI-PEP's (C++'s) and NumPy's."""

_MD5 = re.compile(r"[0-9a-fA-F]{32}")


Entry = TypeVar("Entry", bound=Section)
Entries = Mapping[str, Entry | Sequence[Entry]] | Sequence[Entry]
"""Entries by name, in lists by name, or in a list."""


def keyed(files: Entries[Entry], prefix: str, pointer: str) -> Iterator[tuple[str, str, Entry]]:
    """Every entry with its placeholder and its pointer: `files.NAME`, and `files.NAME.0` within lists."""
    items: Iterator[tuple[str | int, Entry | Sequence[Entry]]]
    items = iter(files.items() if isinstance(files, Mapping) else enumerate(files))
    for name, entry in items:
        key, here = f"{prefix}.{name}", join(pointer, name)
        if isinstance(entry, Section):
            yield key, here, entry
        else:
            yield from keyed(entry, key, here)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Makes the files of one benchmark. Locations stay as they are written; `anchored` makes them absolute.

    Attributes:
        scope: The names that entries may use.
        inputs: The benchmark's inputs: an export without inputs of its own takes them.
    """

    scope: Scope
    inputs: tuple[Input, ...]

    def files(self, files: Files | Many[FileEntry], prefix: str, pointer: str) -> tuple[ModelFile, ...]:
        """The files under one key of the specification."""
        return tuple(self._file(key, here, entry) for key, here, entry in keyed(files, prefix, pointer))

    def outputs(self, outputs: Outputs, pointer: str) -> tuple[OutputFile, ...]:
        """The output files; all are fetched into one folder, so no two may share a name."""
        found: dict[str, OutputFile] = {}
        for key, here, entry in keyed(outputs, "output_files", pointer):
            file = self._output(key, here, entry)
            other = found.setdefault(file.filename, file)
            if other is not file:
                message = f"{key} and {other.key} have the same filename {file.filename!r}"
                self.scope.findings.add(join(here, "filename"), message, "give them different filenames")
        return tuple(found.values())

    def _output(self, key: str, pointer: str, entry: OutputEntry) -> OutputFile:
        return OutputFile(
            key=key,
            filename=self._filename(entry.filename, pointer),
            location=self.scope.partly(entry.location, join(pointer, "location")),
            converter=entry.converter.name if entry.converter else None,
            converter_args=entry.converter.args if entry.converter else {},
        )

    def step(self, step: Step, prefix: str, pointer: str) -> HostStep:
        """Commands that run on the host, and their files."""
        commands = step.commands or ()
        if step.command is not None:
            lines: tuple[str, ...] = (self.scope.command(step.command, join(pointer, "command")),)
        else:
            here = join(pointer, "commands")
            lines = tuple(self.scope.command(command, join(here, index)) for index, command in enumerate(commands))
        return HostStep(
            files=self.files(step.files, f"{prefix}.files", join(pointer, "files")),
            commands=lines,
            timeout_s=step.platform_args.timeout if step.platform_args else None,
        )

    def _file(self, key: str, pointer: str, entry: FileEntry) -> ModelFile:
        findings = self.scope.findings
        if (entry.location is None) == (entry.export is None):
            how = "neither a `location` nor an `export`" if entry.location is None else "a `location` and an `export`"
            findings.add(pointer, f"the file has {how}", "say either where it is or how it is made")
        return ModelFile(
            key=key,
            filename=self._filename(entry.filename, pointer),
            location=self._location(entry.location, join(pointer, "location")),
            md5=self._md5(entry.md5, join(pointer, "md5")),
            export=self._export(entry.export, join(pointer, "export")) if entry.export is not None else None,
            origin=findings.document.place(pointer),
        )

    def _location(self, template: str | None, pointer: str) -> str | None:
        if template is None:
            return None
        text = self.scope.partly(template, pointer)
        if "TGTDIR" in find_placeholders(text):
            message = "a file that is on the device already is not supported yet"
            self.scope.findings.add(pointer, message, "let a step make it below {HOSTDIR}; it is brought to the device")
        return text if find_placeholders(text) else self.scope.settled(text, pointer)

    def _filename(self, template: str, pointer: str) -> str:
        here = join(pointer, "filename")
        filename = self.scope.settled(template, here)
        fault = filename_fault(filename)
        if fault is not None:
            hint = "give a plain name, or a relative path with forward slashes"
            self.scope.findings.add(here, f"filename {filename!r} {fault}", hint)
        return filename

    def _md5(self, template: str | None, pointer: str) -> str | None:
        md5 = self.scope.settled(template, pointer) if template else ""
        if md5 and md5 != "directory" and not _MD5.fullmatch(md5):
            message = f"{md5!r} is not an MD5"
            self.scope.findings.add(pointer, message, "an MD5 has 32 hexadecimal digits; see `md5sum FILE`")
        return md5.lower() or None

    def _export(self, entry: ExportEntry, pointer: str) -> Export:
        def option(name: str, value: Scalar) -> Scalar:
            return self.scope.settled(value, join(pointer, "options", name)) if isinstance(value, str) else value

        return Export(
            definition=self.scope.settled(entry.definition, join(pointer, "definition")),
            recipe=self.scope.settled(entry.recipe, join(pointer, "recipe")),
            inputs=self._export_inputs(entry, pointer) or self.inputs,
            seed=entry.seed,
            calibration=entry.calibration,
            options={name: option(name, value) for name, value in entry.options.items()},
        )

    def _export_inputs(self, entry: ExportEntry, pointer: str) -> tuple[Input, ...]:
        def one(name: str, given: ExportInput) -> Input:
            dtype = dtype_of(given.type, join(pointer, "inputs", name, "type"), self.scope.findings)
            return Input(name=name, shape=given.shape, dtype=dtype)

        return tuple(one(name, given) for name, given in entry.inputs.items())


def filename_fault(filename: str) -> str | None:
    """Why a name may not be used below a folder of ours, or None: nothing a specification says leaves that folder."""
    if not filename:
        return "is empty"
    if "\0" in filename or "\\" in filename:
        return "holds a NUL byte or a backslash"
    if filename.startswith("/"):
        return "is absolute"
    if any(part in ("", ".", "..") for part in filename.split("/")):
        return "leaves its folder, or has empty parts"
    return None


def dtype_of(name: str, pointer: str, findings: Findings) -> str:
    """An element type by its one name here."""
    if name not in DTYPES:
        hint = suggest(name, DTYPES) or "known: " + ", ".join(DTYPES)
        findings.add(pointer, f"unknown element type `{name}`", hint)
    return DTYPES.get(name, name)


def check_filenames(files: Sequence[ModelFile], findings: Findings) -> None:
    """Two files of one benchmark may share a name only when they are the same file."""
    seen: dict[str, ModelFile] = {}
    for file in files:
        other = seen.setdefault(file.filename, file)
        same = (other.location, other.md5, other.export) == (file.location, file.md5, file.export)
        if not same:
            message = f"{file.key} and {other.key} are different files with the same filename {file.filename!r}"
            findings.problems.add(file.origin, message, "give them different filenames")


def check_made(files: Sequence[ModelFile], findings: Findings) -> None:
    """A file that a step makes may be named by the place of another one, but not in a circle."""
    made = {file.key: file.location for file in files if file.location is not None and file.is_generated}
    later = {name for location in made.values() for name in find_placeholders(location)}
    for file in files:
        try:
            substitute(made.get(file.key, ""), made, later)
        except PlaceholderProblem as problem:
            findings.problems.add(file.origin, problem.message, "say where the file is, from {HOSTDIR} on")


def anchored(file: ModelFile, folder: Path, root: Path | None, findings: Findings) -> ModelFile:
    """The file with an absolute location.

    Args:
        file: A file whose location is as written.
        folder: The folder of the specification, which relative locations start from.
        root: What `//` locations are below.
        findings: Collects what is wrong.
    """
    written = file.location
    if written is None or find_placeholders(written) or re.match(r"https?://", written):
        return file
    path, fault, hint = _local_path(written, folder, root)
    if fault is not None:
        findings.problems.add(file.origin, f"location {written!r} {fault}", hint)
    return file if path is None else file.model_copy(update={"location": path})


def _local_path(written: str, folder: Path, root: Path | None) -> tuple[str | None, str | None, str | None]:
    """The absolute path, or what is wrong and how to mend it."""
    if "\0" in written:
        return None, "holds a NUL byte", "remove it"
    if written.startswith("file:///"):
        return unquote(written.removeprefix("file://")), None, None
    if "://" in written:
        return None, "is of a kind that is not supported", "use https://, file:///path or a path"
    if not written.startswith("//"):
        return os.path.normpath(Path(os.path.realpath(folder)) / written), None, None
    if root is None:
        return None, "is relative to the model folder, which is not known", "say where it is with --root_model_dir"
    return os.path.normpath(Path(os.path.realpath(root)) / written.lstrip("/")), None, None
