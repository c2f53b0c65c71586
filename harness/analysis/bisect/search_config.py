"""What a search may spend, and when it is content."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from harness.core.comparison import Positive, Share
from harness.core.values import Value


class Costs(Value):
    """What answers cost, in seconds.

    Attributes:
        pair_s: A pair of launches on the device.
        build_s: A build that is not there yet; 0 searches with the fewest pairs, whatever is built for it.
        built: Commits whose builds are there.
    """

    pair_s: Positive = 1.0
    build_s: Annotated[float, Field(ge=0)] = 0.0
    built: tuple[str, ...] = ()


class Aims(Value):
    """When a search is content.

    Attributes:
        confidence: Probability at which a commit is taken for a culprit, and that there is none.
        alpha: Largest probability of confirming a culprit that changed nothing.
        confirm_pairs: Fresh pairs that a confirmation may take; 0 leaves it out.
        batch: Pairs asked for at a time.
        max_pairs: Pairs that the whole search may take.
        smallest: Part of the whole difference that a commit must account for to be looked for.
    """

    confidence: Share = 0.99
    alpha: Share = 0.01
    confirm_pairs: Annotated[int, Field(ge=0)] = 100
    batch: Annotated[int, Field(ge=1)] = 4
    max_pairs: Annotated[int, Field(ge=1)] = 1000
    smallest: Share = 0.25
