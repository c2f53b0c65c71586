"""Choice of examples: which of those that a folder holds, for which split."""

from __future__ import annotations

import numpy as np

from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split


def choose(request: DataRequest, available: int, split: Split) -> list[int]:
    """Return the numbers of the chosen examples.

    Without a count all are taken, in their order. With one they are drawn by the seed: for the evaluation from one end
    of the drawn order, for the calibration from the other, so that both are disjoint where there are enough.

    Raises:
        DataUnavailable: More are asked for than there are.
    """
    if request.count is None:
        return list(range(available))
    if request.count > available:
        raise DataUnavailable(
            f"data `{request.provider}` has {available} examples, {request.count} are asked for",
            hint=f"ask for {available} or fewer, or add files",
        )
    order: list[int] = np.random.Generator(np.random.PCG64(request.seed)).permutation(available).tolist()
    return order[: request.count] if split is Split.EVALUATION else order[::-1][: request.count]
