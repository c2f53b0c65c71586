"""Parts of the file format: files and exports, steps on the host, and how a program is started.

An absent key means that there is no value; `null` is never a value. Names in braces are placeholders, see
`harness.core.placeholders`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field, JsonValue, NonNegativeFloat, NonNegativeInt, PositiveFloat, model_validator
from pydantic_core import PydanticCustomError

from harness.core.scalars import Scalar
from harness.core.values import Value
from harness.specification.document import join

Item = TypeVar("Item")
Many = Annotated[tuple[Item, ...], Field(strict=False)]
"""JSON array. Only the container is lax: pydantic's strict mode would refuse a list for a tuple."""

Name = Annotated[str, Field(min_length=1)]
Voltage = Annotated[float, Field(gt=0, le=13.5)]
"""What a Monsoon power meter can feed."""
Count = Annotated[int, Field(ge=1)]
Dimensions = Many[Count]
Placeholder = Annotated[str, Field(pattern=r"^\{[^{}]+\}$")]
"""Placeholder alone, where something else than a text is wanted."""
Flag = bool | Literal["true", "false"]


class Section(Value):
    """Part of a document: no coercion, no unknown keys, no null."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_null(cls, members: object) -> object:
        """Refuse null: in these classes None means that a key is absent."""
        nulls = [key for key, value in members.items() if value is None] if isinstance(members, dict) else []
        if nulls:
            raise PydanticCustomError("null", "{keys}: null is not a value here", {"keys": ", ".join(nulls)})
        return members


class ExportInput(Section):
    """Example input of an export.

    Attributes:
        shape: Its dimensions, for example [1, 3, 224, 224].
        type: Its element type, for example "float".
    """

    shape: Dimensions
    type: Name = "float"


class DataEntry(Section):
    """Data set whose examples are taken.

    Attributes:
        provider: Name of an installed provider: "random", "files", "images", "digits", ...
        count: Number of examples; absent means all that the provider has, or its default.
        seed: Seed of what is random in it.
        options: The provider's options. Paths are relative to this file.
    """

    provider: Name
    count: Count | None = None
    seed: NonNegativeInt = 0
    options: dict[Name, JsonValue] = {}


Data = Name | DataEntry
"""Data set; a text is the name of its provider."""


class ExportEntry(Section):
    """Export of a model file, instead of its location.

    Attributes:
        definition: Name of an installed model definition, or "package.module:function".
        recipe: Name of an installed recipe, for example "xnnpack_q8", or "package.module:function".
        inputs: Example inputs by name; absent means the test's own inputs, else the definition's.
        seed: Seed of weights, example inputs and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        options: Keyword arguments of the definition.
        calibration_data: Data set to calibrate with, or the name of its provider; absent means random numbers.
    """

    definition: Name
    recipe: Name
    inputs: dict[Name, ExportInput] = {}
    seed: NonNegativeInt = 0
    calibration: Count = 8
    options: dict[str, Scalar] = {}
    calibration_data: Data | None = None


class FileEntry(Section):
    """File that is fetched or exported before the benchmark.

    Attributes:
        filename: Its name in the cache and on the device; a plain relative path.
        location: An http(s) URL, an absolute path, a path relative to this file, or //path below --root-model-dir.
        md5: Its MD5; the file is refused when it differs. "directory" marks a directory, which is not checked.
        export: How to export it, instead of a location.
    """

    filename: str
    location: Name | None = None
    md5: str | None = None
    export: ExportEntry | None = None


class Converter(Section):
    """Converter of output into metrics.

    Attributes:
        name: The converter's name.
        args: Its options.
    """

    name: Name
    args: dict[str, JsonValue] = {}


class OutputEntry(Section):
    """File that the program writes and that is fetched afterwards.

    Attributes:
        filename: Its name on the host; a plain relative path.
        location: Its path on the device, usually "{TGTDIR}/...".
        converter: The converter that turns it into metrics.
        dtype: Element type of its numbers, for example "float", or "text" for numbers as text: comparisons then allow
            for rounding. A file named *.npy says it itself; other files have to be equal byte by byte.
        upload: Not supported yet.
        md5: Not supported yet.
    """

    filename: str
    location: Name
    converter: Converter | None = None
    dtype: Name | None = None
    upload: bool = False
    md5: str | None = None


Files = dict[Name, FileEntry | Many[FileEntry]]
Outputs = dict[Name, OutputEntry | Many[OutputEntry]]


class PlatformArgs(Section):
    """Start of the program by the platform.

    Attributes:
        taskset: CPUs to pin to, as a hexadecimal mask, for example "f0".
        sleep_before_run: Pause on the device before each launch, seconds.
        timeout: Limit of the program, seconds.
        env: Variables of its environment.
        log_output: Keep its output in the log.
        non_blocking: Not supported yet.
        enable_profiling: Not supported yet.
        profiler_args: Not supported yet.
        power: Not supported yet.
        shell: Not supported.
        retry: Not supported: a failure is reported, not retried.
        retry_sleep: Not supported.
        ignore_status: Not supported: a failure is never reported as success.
        silent: Not supported.
        patterns: Not supported.
        filter: Not supported.
        process_key: Not supported.
    """

    taskset: Name | NonNegativeInt | None = None
    sleep_before_run: NonNegativeFloat | None = None
    timeout: PositiveFloat | None = None
    env: dict[Name, Scalar] = {}
    log_output: Flag | None = None
    non_blocking: JsonValue = None
    enable_profiling: JsonValue = None
    profiler_args: JsonValue = None
    power: JsonValue = None
    shell: JsonValue = None
    retry: JsonValue = None
    retry_sleep: JsonValue = None
    ignore_status: JsonValue = None
    silent: JsonValue = None
    patterns: JsonValue = None
    filter: JsonValue = None
    process_key: JsonValue = None


class Step(Section):
    """Commands that run on the host before or after.

    Attributes:
        files: Programs and data that they use, as {preprocess.files.NAME}; programs are made executable.
        commands: The command lines, in order.
        command: A single command line, instead of commands.
        platform_args: Only timeout is supported here.
    """

    files: Files = {}
    commands: Many[Name] | None = None
    command: Name | None = None
    platform_args: PlatformArgs | None = None


def keys_of(section: type[Section]) -> tuple[str, ...]:
    """List the keys of a section as files spell them."""
    return tuple(field.alias or name for name, field in section.model_fields.items())


Entry = TypeVar("Entry", bound=Section)
Entries = Mapping[str, Entry | Sequence[Entry]] | Sequence[Entry]
"""Entries by name, in lists by name, or in a list."""


def walk_entries(entries: Entries[Entry], prefix: str, pointer: str) -> Iterator[tuple[str, str, Entry]]:
    """Yield every entry with its placeholder and its pointer: `files.NAME`, and `files.NAME.0` within lists."""
    items: Iterator[tuple[str | int, Entry | Sequence[Entry]]]
    items = iter(entries.items() if isinstance(entries, Mapping) else enumerate(entries))
    for name, entry in items:
        key, here = f"{prefix}.{name}", join(pointer, name)
        if isinstance(entry, Section):
            yield key, here, entry
        else:
            yield from walk_entries(entry, key, here)
