"""Fields of a value whose classes are imported when such a field is read, written or described first.

Making a class takes a millisecond, and most results have neither a comparison nor an evaluation
(docs/decisions/0047).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

    from harness.core.values import Value


class Deferred:
    """Type of a field: a class of values, by its name.

    What it accepts, refuses and writes, and its JSON Schema, are those of the class.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module: Final = module
        self._name: Final = name

    def _class(self) -> type[Value]:
        found: type[Value] = getattr(import_module(self._module), self._name)
        return found

    def _validate(self, value: object) -> Value:
        return self._class().model_validate(value)

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = self._class().__pydantic_core_schema__
        return handler(core_schema.definitions_schema(schema, []))  # so that the class is described once, with a name


def deferred(module: str, name: str) -> object:
    """Return the type of a field whose class is imported when it is needed first.

    Type checkers are told the class itself:

        if TYPE_CHECKING:
            from harness.core.comparison import Comparison
        else:
            Comparison = deferred("harness.core.comparison", "Comparison")
    """
    return Annotated[Any, Deferred(module, name)]
