"""Base class of everything that crosses a wire or a file: frozen, complete, without extra keys."""

import operator
import re
from collections.abc import Mapping
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Value(BaseModel):
    """Frozen value. Unknown keys are refused; numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Share = Annotated[float, Field(gt=0, lt=1)]
"""Share of a whole: neither none of it nor all."""

AnyValue = TypeVar("AnyValue", bound=Value)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def replace_surrogates(value: AnyValue) -> AnyValue:
    """Replace each surrogate in the texts of a value by U+FFFD; return the value itself where there is none.

    Python keeps half an escaped pair of a JSON text, and each byte of a file name that is not UTF-8, as a surrogate.
    UTF-8 has no form for them (RFC 3629, section 3), and JSON is UTF-8 (RFC 8259, section 8.1).
    """
    fields = {name: getattr(value, name) for name in type(value).model_fields}
    changed = {name: clean for name, part in fields.items() if (clean := _replace_surrogates(part)) is not part}
    return value.model_copy(update=changed) if changed else value


def _replace_surrogates(part: object) -> object:
    match part:
        case str():
            return _SURROGATE.sub("\ufffd", part) if _SURROGATE.search(part) else part
        case tuple() | list():
            if all(isinstance(item, int | float) for item in part):
                return part  # samples, of which there may be very many
            clean = [_replace_surrogates(item) for item in part]
            return part if all(map(operator.is_, clean, part)) else type(part)(clean)
        case dict():
            return _replace_surrogates_in_dict(part) if any(isinstance(key, str) for key in part) else part
        case Value():
            return replace_surrogates(part)
        case _:
            return part


def _replace_surrogates_in_dict(part: dict[str, object]) -> dict[str, object]:
    """Replace surrogates in keys and values; keys that become equal stay apart."""
    clean: dict[str, object] = {}
    for key, value in part.items():
        name = _SURROGATE.sub("\ufffd", key)
        while name != key and (name in clean or name in part):
            name += "\ufffd"
        clean[name] = _replace_surrogates(value)
    same = all(key in clean and clean[key] is value for key, value in part.items())
    return part if same else clean


_SECRET_NAME: Final = re.compile(
    r"(^|_)(API_?)?(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|KEY)(_|$)", re.IGNORECASE
)


def mask_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """Replace the values of variables whose names suggest a secret by `***`."""
    return {name: "***" if _SECRET_NAME.search(name) else value for name, value in variables.items()}
