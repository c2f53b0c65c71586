"""Example sets of a command: requests of specifications, as example folders in the cache."""

from __future__ import annotations

from pathlib import Path

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable, UsageError
from harness.core.examples import DataRequest, Split
from harness.core.protocols import Progress


def prepare_examples(
    request: DataRequest, inputs: tuple[Input, ...], split: Split, settings: Settings, progress: Progress
) -> Path:
    """Return the example folder of a request; examples that are not in the cache are made.

    Args:
        request: The request.
        inputs: The model's inputs; empty where the specification names none.
        split: The part of the data set.
        settings: Where the cache is.
        progress: Told what happens.

    Raises:
        DataUnavailable: There is no such provider, or it cannot give these examples.
        EnvironmentProblem: The provider cannot be imported.
    """
    from harness.data.materialise import materialise  # noqa: PLC0415 - only commands with data need it

    try:
        provider = plugins.data_provider(request.provider, settings)
    except UsageError as error:
        raise DataUnavailable(error.message, hint=error.hint) from error
    return materialise(provider, request, inputs, split, cache=settings.model_cache, progress=progress)
