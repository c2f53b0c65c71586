"""Records of the product are made by msgspec: a frozen data class takes thirty times as long to make."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import harness

ROOT: Final = Path(harness.__file__).parents[1]
PACKAGES: Final = ("harness", "platforms", "frameworks", "reporters")
READ_AS_DATA_CLASSES: Final = {
    *("harness.config.settings", "harness.config.flags", "harness.api.keywords"),
    *("frameworks.executorch.options", "frameworks.tflite.options"),
    *("platforms.android.options", "platforms.ios.options", "platforms.phone_options"),
}
"""Options and flags: the parser of the command line reads their fields."""
WITHOUT_PACKAGES: Final = {
    *("frameworks.backend_options", "frameworks.executorch.llm_runner", "frameworks.executorch.python"),
    *("frameworks.python_runner", "frameworks.tflite.runner", "harness.core.errors", "harness.testing"),
}
"""They are also imported by interpreters that have none of our dependencies: runners, and stand-ins of phones."""
BEYOND_RECORDS: Final = {
    *("harness.api.results", "harness.flows.watch.alarm_channels", "harness.flows.watch.alarm_reports"),
    *("harness.server.config", "reporters.channels.chat"),
}
"""An abstract base, a secret that is not shown, a field that the caller does not give."""


def frozen_data_classes() -> set[str]:
    """Return the modules that make one."""
    found: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            decorators = (
                ast.unparse(decorator)
                for node in ast.walk(tree)
                if isinstance(node, ast.ClassDef)
                for decorator in node.decorator_list
            )
            if any("dataclass(" in text and "frozen=True" in text for text in decorators):
                found.add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return found


def test_frozen_data_classes_are_those_that_must_be_some() -> None:
    allowed = READ_AS_DATA_CLASSES | WITHOUT_PACKAGES | BEYOND_RECORDS
    modules = frozen_data_classes()
    assert {name for name in modules if not any(f"{name}.".startswith(f"{place}.") for place in allowed)} == set()
    assert {place for place in allowed if not any(f"{name}.".startswith(f"{place}.") for name in modules)} == set()
