"""Model definitions and export recipes by name: installed entry points, or `package.module:function`.

Ours are entry points of this distribution and are found like everybody else's. Finding one reads metadata only: the
modules import torch and the exporters of frameworks.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from typing import Final

from msgspec import Struct

from harness.core.errors import ExportFailed
from harness.core.placeholders import suggest
from harness.files.distributions import find_entry_points

_FUNCTION: Final = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")


class CatalogueEntry(Struct, frozen=True):
    """Function that an export request names.

    Attributes:
        kind: `model definition` or `export recipe`, for messages.
        name: The name as the specification gives it.
        module: The Python module of the function.
        function: The function's name in that module.
        entry_point: Entry point that offers it; None when the request names the function.
    """

    kind: str
    name: str
    module: str
    function: str
    entry_point: EntryPoint | None = None

    @property
    def version(self) -> str | None:
        """Return the version of the distribution that offers it as an entry point, if one does."""
        offering = self.entry_point.dist if self.entry_point is not None else None
        return None if offering is None else offering.version

    def load(self) -> Callable[..., object]:
        """Import the module and return the function.

        Raises:
            ExportFailed: The module has no such function.
        """
        module = importlib.import_module(self.module)
        function: object = getattr(module, self.function, None)
        if callable(function):
            return function
        raise ExportFailed(
            f"{self.kind} `{self.name}`: module `{self.module}` has no function `{self.function}`",
            hint=suggest(self.function, [name for name in vars(module) if callable(getattr(module, name))]),
        )


class Catalogue(Struct, frozen=True):
    """Everything of one kind that a request can name.

    Attributes:
        kind: What messages call it.
        group: Group of its entry points.
    """

    kind: str
    group: str

    def names(self) -> tuple[str, ...]:
        """List the installed names."""
        return tuple(sorted({entry.name for entry in find_entry_points(self.group)}))

    def find(self, name: str) -> CatalogueEntry:
        """Find the function that a request names, without importing it.

        Args:
            name: The name of an entry point, or `package.module:function`.

        Raises:
            ExportFailed: There is no such entry point (the hint lists those that there are), or two distributions
                offer the name, or it is no valid name of a function.
        """
        if ":" in name:
            return self._parse(name, name)
        offers: Mapping[str, EntryPoint] = {
            entry.value: entry for entry in find_entry_points(self.group) if entry.name == name
        }
        if not offers:
            raise self._unknown(name)
        if len(offers) > 1:
            raise ExportFailed(
                f"{self.kind} `{name}` is offered by several packages: {', '.join(sorted(offers))}",
                hint="name the function itself, as `package.module:function`",
            )
        ((value, entry),) = offers.items()
        return self._parse(name, value, entry)

    def _parse(self, name: str, value: str, entry_point: EntryPoint | None = None) -> CatalogueEntry:
        parts = _FUNCTION.fullmatch(value)
        if parts is None:
            raise ExportFailed(
                f"{self.kind} `{value}` does not name a function",
                hint="write `package.module:function`, in Python's names",
            )
        return CatalogueEntry(self.kind, name, module=parts[1], function=parts[2], entry_point=entry_point)

    def _unknown(self, name: str) -> ExportFailed:
        known = self.names()
        similar = suggest(name, known)
        installed = f"installed: {', '.join(known) or 'none (reinstall the package edge-harness)'}"
        own = "or your own as `package.module:function`"
        return ExportFailed(
            f"unknown {self.kind} `{name}`", hint="; ".join(part for part in (similar, installed, own) if part)
        )


DEFINITIONS: Final = Catalogue("model definition", "edge_harness.definitions")
"""Functions that make models: they take the request's options and return a module with its example inputs."""


def recipes_of(framework: str) -> Catalogue:
    """Return the catalogue of a framework's recipes: functions that make its model files of models in torch."""
    return Catalogue("export recipe", f"edge_harness.{framework}.recipes")
