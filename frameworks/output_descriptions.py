"""Outputs as our runners describe them, where they execute examples."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from frameworks.notes import find_observation
from frameworks.observations.observer import parse_lines
from harness.core.command import Completed
from harness.core.errors import BenchmarkFailed
from harness.core.examples import ITEM_BYTES, TensorInfo

_DESCRIPTION: Final = re.compile(r"(?P<dtype>\w+) (?P<shape>\[[\d, ]*\]) dim_order \[[\d, ]*\]")
"""Text of `RUN output_K` (see `frameworks.python_runner`)."""


def read_descriptions(completed: Completed) -> Sequence[TensorInfo]:
    """Return the description of each output in one example, from what the runner said.

    Raises:
        BenchmarkFailed: An output is not described, or of a type that cannot be read.
    """
    observations, _ = parse_lines(completed.stdout)
    infos: list[TensorInfo] = []
    while (observation := find_observation(observations, f"RUN output_{len(infos)}")) is not None:
        name, match = f"output_{len(infos)}", _DESCRIPTION.fullmatch(observation.info or "")
        if match is None or match["dtype"] not in ITEM_BYTES:
            raise BenchmarkFailed(f"{name} cannot be read: the runner describes it as {observation.info}")
        infos.append(TensorInfo(name=name, dtype=match["dtype"], shape=tuple(json.loads(match["shape"]))))
    if not infos:
        raise BenchmarkFailed("the runner describes no output", hint="is it older than the harness? build it again")
    return infos
