"""Options of the runner as properties of OpenVINO: what is asked for, and what OpenVINO says that it does."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from frameworks.python_runner.failure import ExitStatus, RunnerFailure

if TYPE_CHECKING:
    import openvino

    Property = str | int | bool

_PRECISION: Final = "INFERENCE_PRECISION_HINT"
_THREADS: Final = "INFERENCE_NUM_THREADS"
_HINT: Final = "PERFORMANCE_HINT"
_STREAMS: Final = "NUM_STREAMS"
_PINNING: Final = "ENABLE_CPU_PINNING"
_DEVICES: Final = "EXECUTION_DEVICES"

_NAMES: Final = MappingProxyType(
    {"precision": _PRECISION, "hint": _HINT, "streams": _STREAMS, "cpu_pinning": _PINNING},
)
"""Property of an option."""

DEFAULTS: Final = MappingProxyType({"precision": "f32", "hint": "latency"})
"""Options that are set where nobody asks for them, so that a model is measured alike on every machine.

OpenVINO itself computes in bfloat16 or half precision where the processor is faster in it.
"""

AUTO: Final = "auto"
"""Precision that leaves the choice to OpenVINO."""

_KNOWN: Final = (*_NAMES, "device")
_LARGEST_STREAMS: Final = 1024


class Applied(Struct, frozen=True):
    """What OpenVINO says of a compiled model.

    Attributes:
        options: Options by our name, as applied; those that it does not tell are missing.
        threads: Threads of all streams.
        streams: Number of streams.
        devices: Devices that execute the model.
        precision_default: Precision that it would have taken by itself.
    """

    options: Mapping[str, str]
    threads: int | None
    streams: int | None
    devices: str
    precision_default: str | None

    def texts(self) -> Mapping[str, str | int]:
        """Return what a launch prints of it."""
        texts: dict[str, str | int] = {"device": self.devices, **self.options}
        if self.streams is not None:
            texts["streams"] = self.streams
        if self.precision_default is not None:
            texts["precision_default"] = self.precision_default
        return texts


def compile_properties(options: Mapping[str, str], threads: int | None, *, operators: bool) -> Mapping[str, Property]:
    """Return the properties to compile a model with.

    Raises:
        RunnerFailure: An option is unknown, or its value is none.
    """
    for name in options:
        if name not in _KNOWN:
            sentence = f"argument --option: OpenVINO has no option {name}; it has {', '.join(_KNOWN)}"
            raise RunnerFailure(ExitStatus.USAGE, sentence)
    properties: dict[str, Property] = {}
    for name, value in {**DEFAULTS, **options}.items():
        if name != "device" and (name, value) not in {("precision", AUTO), ("hint", "none")}:
            properties[_NAMES[name]] = _convert(name, value)
    if threads is not None:
        properties[_THREADS] = threads
    if operators:
        properties["PERF_COUNT"] = True
    return properties


def _convert(name: str, value: str) -> Property:
    if name == "streams":
        if not value.isascii() or not value.isdecimal() or not 1 <= int(value[:9]) <= _LARGEST_STREAMS:
            sentence = f"argument --option: streams={value} is not a whole number from 1 to {_LARGEST_STREAMS}"
            raise RunnerFailure(ExitStatus.USAGE, sentence)
        return int(value)
    choices = {
        "precision": ("f32", "bf16", "f16", AUTO),
        "hint": ("latency", "throughput", "none"),
        "cpu_pinning": ("true", "false"),
    }[name]
    if value not in choices:
        sentence = f"argument --option: {name}={value} is none of {', '.join(choices)}"
        raise RunnerFailure(ExitStatus.USAGE, sentence)
    if name == "cpu_pinning":
        return value == "true"
    return value.upper() if name == "hint" else value


def apply_options(
    core: openvino.Core, compiled: openvino.CompiledModel, options: Mapping[str, str], threads: int | None
) -> Applied:
    """Return what OpenVINO says that it applied.

    Raises:
        RunnerFailure: It is not what was asked for. OpenVINO takes another precision, or fewer threads, in silence.
    """
    supported = compiled.get_property("SUPPORTED_PROPERTIES")
    told = {name: _text(compiled.get_property(name)) for name in (*_NAMES.values(), _THREADS) if name in supported}
    if _HINT in told:
        told[_HINT] = told[_HINT].rpartition(".")[2].lower()  # some devices name the enumeration, too
    devices = _text(compiled.get_property(_DEVICES)) if _DEVICES in supported else options.get("device", "CPU")
    for name, wanted in options.items():
        if name == "device" or (name, wanted) in {("precision", AUTO), ("hint", "none")}:
            continue
        applied = told.get(_NAMES[name])
        if applied != wanted:
            does = f"it takes {applied}" if applied is not None else "it does not tell what it does"
            sentence = f"OpenVINO does not obey {name}={wanted} on {devices}: {does}"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    if threads is not None and told.get(_THREADS, str(threads)) != str(threads):
        sentence = f"OpenVINO does not compute with {threads} threads on {devices}: it takes {told[_THREADS]}"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    own = core.get_property(devices, _PRECISION) if devices == "CPU" else None
    return Applied(
        options={name: told[key] for name, key in _NAMES.items() if key in told and name != "streams"},
        threads=int(told[_THREADS]) if _THREADS in told else None,
        streams=int(told[_STREAMS]) if _STREAMS in told else None,
        devices=devices,
        precision_default=None if own is None else _text(own),
    )


def _text(value: object) -> str:
    """Return a value of a property by the name that its option has."""
    name = getattr(value, "get_type_name", None)
    if callable(name):
        return str(name())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)
