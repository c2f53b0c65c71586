"""How long benchmarks take, as earlier results say."""

from typing import Annotated

from pydantic import Field

from harness.core.result import Result
from harness.core.values import Value

Digest = Annotated[str, Field(min_length=1, max_length=200)]
Identity = Annotated[str, Field(max_length=1000)]


class DurationQuery(Value):
    """Benchmarks, and devices any of whose results says how long one takes.

    Attributes:
        benchmarks: Digests of the benchmarks.
        devices: Identities of devices, or of a class that was compared.
        pairs: Whether to ask for one pair of a comparison, instead of a measurement.
    """

    benchmarks: Annotated[tuple[Digest, ...], Field(max_length=2000)]
    devices: Annotated[tuple[Identity, ...], Field(max_length=2000)]
    pairs: bool = False


class KnownDurations(Value):
    """Durations that results say.

    Attributes:
        seconds: Seconds by digests of benchmarks; those that are not known are left out.
    """

    seconds: dict[str, float]


def measured_duration_s(result: Result, *, pairs: bool) -> float | None:
    """Return how long a measurement took, or one pair of a comparison; None of a result of the other kind."""
    comparison = result.comparison
    if not result.ok or (comparison is not None) is not pairs:
        return None
    if comparison is None:
        return max(result.finished - result.started, 0.0)
    return comparison.seconds / len(comparison.pairs) if comparison.pairs else None
