"""Launches that generate, recorded by `tests.benchmarks.decisions.record_generations`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.core.values import Value
from tests.analysis.compare.simulated_launches import Array

FOLDER = Path(__file__).parent / "generations"


class GeneratingLaunch(NamedTuple):
    """One launch.

    Attributes:
        seconds: From start to end.
        generations: Of each generation, in us: until the prompt was processed, from there to the first token, and from
            each token to the next.
        earlier_first_tokens: Of each time that the prompt was processed before, in us: until its first token.
    """

    seconds: float
    generations: tuple[tuple[int, ...], ...]
    earlier_first_tokens: tuple[int, ...] = ()


class GenerationTrace(Value):
    """Recording of launches of one program, and how it was made.

    Attributes:
        made_by: The module that recorded it.
        machine: What it was recorded on.
        load_before_and_after: Load average of one minute.
        beside: What else the machine did.
        model: The program that generated, with one thread.
        prompt_tokens: Tokens of the prompt.
        new_tokens: New tokens of each generation.
        huge_pages: Whether the memory was in huge pages.
        launches: In the order of time.
        in_turns: Launches of which two neighbours were alive at once, and generated in turns of some tokens. One such
            pair follows each two of `launches`.
        in_duet: Likewise, and generated at the same time on one CPU.
    """

    made_by: str
    machine: str
    load_before_and_after: tuple[float, float]
    beside: str
    model: str
    prompt_tokens: int
    new_tokens: int
    huge_pages: bool
    launches: tuple[GeneratingLaunch, ...]
    in_turns: tuple[GeneratingLaunch, ...] = ()
    in_duet: tuple[GeneratingLaunch, ...] = ()

    @property
    def seconds(self) -> Array:
        """Seconds of each launch."""
        return np.array([launch.seconds for launch in self.launches])

    @property
    def times_s(self) -> Array:
        """Seconds until the prompt was processed and until each token: shape (launches, generations, 1 + tokens)."""
        return np.cumsum([launch.generations for launch in self.launches], axis=2) / 1e6


def recorded_generations(name: str) -> GenerationTrace:
    """Load a recording.

    Args:
        name: `quiet` (pages as they come), `resting` and `alternating` (have turns too), `shared` or `loaded`.
    """
    return GenerationTrace.model_validate_json((FOLDER / f"tiny_llama-8da4w-{name}.json").read_text())
