"""Files of one benchmark, from the file entries of its specification."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from harness.core.benchmark import Benchmark, Export, HostStep, Input, ModelFile, OutputFile
from harness.core.placeholders import PlaceholderProblem, find_placeholders, substitute, suggest
from harness.core.scalars import Scalar
from harness.files.numbers import element_types
from harness.specification.data import read_data
from harness.specification.document import Findings, join
from harness.specification.local_paths import local_path
from harness.specification.scope import PlaceholderScope
from harness.specification.sections import (
    ExportEntry,
    ExportInput,
    FileEntry,
    Files,
    Many,
    OutputEntry,
    Outputs,
    Step,
    walk_entries,
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
"""Our name of each element type by the names in use: ours, FAI-PEP's (C++'s) and NumPy's."""

_MD5 = re.compile(r"[0-9a-fA-F]{32}")


class FileReader(Struct, frozen=True):
    """Reader of file entries. Locations stay as they are written; `make_locations_absolute` resolves them.

    Attributes:
        scope: The names that entries may use.
        inputs: The benchmark's inputs: an export without inputs of its own takes them.
    """

    scope: PlaceholderScope
    inputs: tuple[Input, ...]

    def read_files(self, files: Files | Many[FileEntry], prefix: str, pointer: str) -> tuple[ModelFile, ...]:
        """Read the files under one key of the specification."""
        return tuple(self._file(key, here, entry) for key, here, entry in walk_entries(files, prefix, pointer))

    def read_outputs(self, outputs: Outputs, pointer: str) -> tuple[OutputFile, ...]:
        """Read the output files; all are fetched into one folder, so no two may share a name."""
        files: dict[str, OutputFile] = {}
        for key, here, entry in walk_entries(outputs, "output_files", pointer):
            file = self._output(key, here, entry)
            first = files.setdefault(file.filename, file)
            if first is not file:
                message = f"{key} and {first.key} have the same filename {file.filename!r}"
                self.scope.findings.add(join(here, "filename"), message, "give them different filenames")
        return tuple(files.values())

    def _output(self, key: str, pointer: str, entry: OutputEntry) -> OutputFile:
        return OutputFile(
            key=key,
            filename=self._filename(entry.filename, pointer),
            location=self.scope.resolve_known(entry.location, join(pointer, "location")),
            converter=entry.converter.name if entry.converter else None,
            converter_args=entry.converter.args if entry.converter else {},
            dtype=self._element_type(entry.dtype, pointer),
        )

    def _element_type(self, dtype: str | None, pointer: str) -> str | None:
        if dtype is not None and dtype not in element_types():
            hint = f"element types are {', '.join(element_types())}"
            self.scope.findings.add(join(pointer, "dtype"), f"there is no element type {dtype!r}", hint)
        return dtype

    def read_step(self, step: Step, prefix: str, pointer: str) -> HostStep:
        """Read commands that run on the host, and their files."""
        commands = step.commands or ()
        if step.command is not None:
            lines: tuple[str, ...] = (self.scope.check_command(step.command, join(pointer, "command")),)
        else:
            here = join(pointer, "commands")
            lines = tuple(
                self.scope.check_command(command, join(here, index)) for index, command in enumerate(commands)
            )
        return HostStep(
            files=self.read_files(step.files, f"{prefix}.files", join(pointer, "files")),
            commands=lines,
            timeout_s=step.platform_args.timeout if step.platform_args else None,
        )

    def _file(self, key: str, pointer: str, entry: FileEntry) -> ModelFile:
        findings = self.scope.findings
        if (entry.location is None) == (entry.export is None):
            what = "neither `location` nor `export`" if entry.location is None else "both `location` and `export`"
            findings.add(pointer, f"the file has {what}", "give either where it is or how it is exported")
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
        text = self.scope.resolve_known(template, pointer)
        if "TGTDIR" in find_placeholders(text):
            message = "a file that is already on the device is not supported yet"
            hint = "let a step write it below {HOSTDIR}; it is copied to the device"
            self.scope.findings.add(pointer, message, hint)
        return text if find_placeholders(text) else self.scope.resolve(text, pointer)

    def _filename(self, template: str, pointer: str) -> str:
        here = join(pointer, "filename")
        filename = self.scope.resolve(template, here)
        fault = filename_fault(filename)
        if fault is not None:
            hint = "give a plain name, or a relative path with forward slashes"
            self.scope.findings.add(here, f"filename {filename!r} {fault}", hint)
        return filename

    def _md5(self, template: str | None, pointer: str) -> str | None:
        md5 = self.scope.resolve(template, pointer) if template else ""
        if md5 and md5 != "directory" and not _MD5.fullmatch(md5):
            message = f"{md5!r} is not an MD5"
            self.scope.findings.add(pointer, message, "an MD5 has 32 hexadecimal digits; see `md5sum FILE`")
        return md5.lower() or None

    def _export(self, entry: ExportEntry, pointer: str) -> Export:
        def option(name: str, value: Scalar) -> Scalar:
            return self.scope.resolve(value, join(pointer, "options", name)) if isinstance(value, str) else value

        return Export(
            definition=self.scope.resolve(entry.definition, join(pointer, "definition")),
            recipe=self.scope.resolve(entry.recipe, join(pointer, "recipe")),
            inputs=self._export_inputs(entry, pointer) or self.inputs,
            seed=entry.seed,
            calibration=entry.calibration,
            options={name: option(name, value) for name, value in entry.options.items()},
            calibration_data=(
                None
                if entry.calibration_data is None
                else read_data(entry.calibration_data, self.scope, join(pointer, "calibration_data"))
            ),
        )

    def _export_inputs(self, entry: ExportEntry, pointer: str) -> tuple[Input, ...]:
        def read_input(name: str, tensor: ExportInput) -> Input:
            dtype = normalise_dtype(tensor.type, join(pointer, "inputs", name, "type"), self.scope.findings)
            return Input(name=name, shape=tensor.shape, dtype=dtype)

        return tuple(read_input(name, tensor) for name, tensor in entry.inputs.items())


def filename_fault(filename: str) -> str | None:
    """Describe why a file name is refused, or return None: no name in a specification may leave its folder."""
    if not filename:
        return "is empty"
    if "\0" in filename or "\\" in filename:
        return "contains a NUL byte or a backslash"
    if filename.startswith("/"):
        return "is absolute"
    if any(part in ("", ".", "..") for part in filename.split("/")):
        return "leaves its folder or has empty parts"
    return None


def normalise_dtype(name: str, pointer: str, findings: Findings) -> str:
    """Return our name of an element type."""
    if name not in DTYPES:
        hint = suggest(name, DTYPES) or "known: " + ", ".join(DTYPES)
        findings.add(pointer, f"unknown element type `{name}`", hint)
    return DTYPES.get(name, name)


def check_filenames(files: Sequence[ModelFile], findings: Findings) -> None:
    """Report different files of one benchmark with the same name."""
    by_name: dict[str, ModelFile] = {}
    for file in files:
        first = by_name.setdefault(file.filename, file)
        is_same = (first.location, first.md5, first.export) == (file.location, file.md5, file.export)
        if not is_same:
            message = f"{file.key} and {first.key} are different files with the same filename {file.filename!r}"
            findings.problems.add(file.origin, message, "give them different filenames")


def check_generated(files: Sequence[ModelFile], findings: Findings) -> None:
    """Report generated files whose locations refer to one another in a circle."""
    generated = {file.key: file.location for file in files if file.location is not None and file.is_generated}
    later = {name for location in generated.values() for name in find_placeholders(location)}
    for file in files:
        try:
            substitute(generated.get(file.key, ""), generated, later)
        except PlaceholderProblem as problem:
            findings.problems.add(file.origin, problem.message, "give the path of the file, beginning with {HOSTDIR}")


def make_locations_absolute(benchmark: Benchmark, root: Path | None, findings: Findings) -> Benchmark:
    """Resolve the locations of all files of a benchmark.

    Args:
        benchmark: The benchmark, with locations as they are written: relative ones start from its specification.
        root: The folder that `//` locations are below.
        findings: The problems of its specification.
    """
    folder = findings.document.file.parent

    def resolve(files: tuple[ModelFile, ...]) -> tuple[ModelFile, ...]:
        return tuple(_make_absolute(file, folder, root, findings) for file in files)

    return benchmark.model_copy(
        update={
            **{key: resolve(getattr(benchmark, key)) for key in ("files", "input_files")},
            **{
                key: step.model_copy(update={"files": resolve(step.files)})
                for key in ("model_before", "model_after", "before", "after")
                if isinstance(step := getattr(benchmark, key), HostStep)
            },
        }
    )


def _make_absolute(file: ModelFile, folder: Path, root: Path | None, findings: Findings) -> ModelFile:
    written = file.location
    if written is None or find_placeholders(written) or re.match(r"https?://", written):
        return file
    path, fault, hint = local_path(written, folder, root)
    if fault is not None:
        findings.problems.add(file.origin, f"location {written!r} {fault}", hint)
    return file if path is None else file.model_copy(update={"location": path})
