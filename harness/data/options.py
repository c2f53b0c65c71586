"""Options of providers: values of the file, checked by a class, and what their inputs must be like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import ConfigDict, ValidationError

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DTYPES, DataRequest, TensorInfo
from harness.core.placeholders import suggest
from harness.core.values import Value


class ProviderOptions(Value):
    """Options of one provider; unknown keys are refused."""

    model_config = ConfigDict(strict=True)


AnyOptions = TypeVar("AnyOptions", bound=ProviderOptions)


def parse_options(request: DataRequest, kind: type[AnyOptions]) -> AnyOptions:
    """Return the options of a request.

    Raises:
        DataUnavailable: One is unknown, missing, or has a wrong value.
    """
    known = tuple(kind.model_fields)
    for name in request.options:
        if name not in known:
            hint = suggest(name, known) or f"it takes: {', '.join(known) or 'none'}"
            raise DataUnavailable(f"data `{request.provider}`: unknown option `{name}`", hint=hint)
    try:
        return kind.model_validate(request.options)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        reason = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        raise DataUnavailable(
            f"data `{request.provider}`: option `{place}`: {reason}", hint=f"it takes: {', '.join(known)}"
        ) from error


def describe_inputs(inputs: Sequence[Input]) -> tuple[TensorInfo, ...]:
    """Return the inputs with the names of types that files have.

    Raises:
        DataUnavailable: A type is unknown.
    """
    for item in inputs:
        if item.dtype not in DTYPES:
            known = f"known: {', '.join(DTYPES)}"
            raise DataUnavailable(
                f"input `{item.name}`: unknown type `{item.dtype}`", hint=suggest(item.dtype, DTYPES) or known
            )
    return tuple(TensorInfo(name=item.name, dtype=DTYPES[item.dtype], shape=item.shape) for item in inputs)


def one_input(request: DataRequest, inputs: Sequence[Input], default: TensorInfo) -> TensorInfo:
    """Return the only input of a model, or the default where none is named.

    Raises:
        DataUnavailable: There are several.
    """
    if len(inputs) > 1:
        names = ", ".join(f"`{item.name}`" for item in inputs)
        raise DataUnavailable(
            f"data `{request.provider}` is for models with one input, this one has {len(inputs)}: {names}",
            hint="use the provider `files`, or one of your own",
        )
    return describe_inputs(inputs)[0] if inputs else default
