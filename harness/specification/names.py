"""Which names the templates of one benchmark may use, and what each stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from harness.core.values import Scalar, format_scalar
from harness.specification.file_format import ModelSection, Test, scalars_of
from harness.specification.files import keyed
from harness.specification.sections import FileEntry, Files, Many, Outputs


def values_of(
    model: ModelSection, test: Test, axes: Mapping[str, Scalar], shape: int, meta: Mapping[str, JsonValue]
) -> dict[str, str]:
    """Names that are known at load. The later of meta, model, test and axes wins.

    Args:
        model: The model.
        test: The test, with its axes applied.
        axes: The matrix entry.
        shape: Index of the shape.
        meta: Free values of lists and of the command line.
    """
    given: dict[str, Scalar] = {
        **{key: value for key, value in meta.items() if isinstance(value, str | bool | int | float)},
        **scalars_of(model),
        **scalars_of(test),
        "repeat": launches_of(model, test),
        "iter": test.iter,
        "warmup": test.warmup,
        "identifier": identifier_of(test),
        **axes,
    }
    values = {name: format_scalar(value) for name, value in given.items()}
    for name, entry in test.inputs.items():
        values[f"inputs.{name}.shape"] = ",".join(str(size) for size in entry.dimensions(shape))
        values[f"inputs.{name}.type"] = entry.type
    return values | _lists(model, test)


def file_names(model: ModelSection, test: Test) -> Iterator[str]:
    """Names of files, which get their paths when the program is started."""
    yield from (key for key, _, _ in keyed(test.output_files, "output_files", ""))
    for prefix, files in _file_sections(model, test):
        yield from (key for key, _, _ in keyed(files, prefix, ""))


def _lists(model: ModelSection, test: Test) -> dict[str, str]:
    """What the name of a list of files stands for: all of them, as words of their own, as FAI-PEP joins them."""
    values: dict[str, str] = {}
    sections: list[tuple[str, Files | Many[FileEntry] | Outputs]] = [("output_files", test.output_files)]
    for prefix, files in (*sections, *_file_sections(model, test)):
        for name, entry in files.items() if isinstance(files, dict) else ():
            key = f"{prefix}.{name}"
            values.pop(key, None)  # what the test says takes the place of what the model says
            if isinstance(entry, tuple):
                values[key] = " ".join(f"{{{key}.{number}}}" for number in range(len(entry)))
    return values


def _file_sections(model: ModelSection, test: Test) -> Iterator[tuple[str, Files | Many[FileEntry]]]:
    """Every place where files are named, and what their placeholders begin with; the model before the test."""
    yield "files", model.files
    yield "files", test.files
    yield "libraries", model.libraries
    yield "input_files", test.input_files
    for section in (model, test):
        for step, prefix in ((section.preprocess, "preprocess"), (section.postprocess, "postprocess")):
            yield f"{prefix}.files", step.files if step is not None else {}


def launches_of(model: ModelSection, test: Test) -> int:
    """How often the program is started."""
    return test.repeat or model.repeat or 1


def identifier_of(test: Test) -> str:
    """The template of the identifier; only generic tests may leave it out."""
    return test.identifier or "{ID}"
