"""What the caller of a load decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from harness.core.values import Scalar


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What the command line says about specifications.

    Attributes:
        string_map: Placeholders that win over everything a specification says (`--string_map`).
        root_model_dir: What `//` locations are below.
        framework: The framework to run; must agree with a specification that names one.
        env: Variables for every program; a specification's own win.
        timeout_s: Limit of a program where the specification has none, seconds.
        cooldown_s: Pause after a benchmark where the specification has none, seconds.
        command_args: Text appended to each command that starts the program, after the specification's own.
        meta: Defaults for every model (the `meta` of FAI-PEP's info JSON); the specification's own win.
        operators: Whether every benchmark times its operators, also where its test does not ask for it.
        programs: Names of programs that are given beside `program`.
    """

    string_map: Mapping[str, Scalar] = field(default_factory=dict)
    root_model_dir: Path | None = None
    framework: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None
    cooldown_s: float | None = None
    command_args: str = ""
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    operators: bool = False
    programs: frozenset[str] = frozenset()
