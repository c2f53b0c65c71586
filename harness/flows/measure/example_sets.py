"""Example sets of a command: requests of specifications, as example folders in the cache."""

from __future__ import annotations

from pathlib import Path

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Export, Input
from harness.core.errors import DataUnavailable, UsageError
from harness.core.examples import DataRequest, Split
from harness.core.protocols import Progress
from harness.data.provider import DataProvider
from harness.models.cache import ModelCache


class CalibrationExamples:
    """Examples that exports calibrate with, from the providers that are installed.

    Args:
        settings: Where the cache is.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def find(self, export: Export) -> Path | None:
        """Return the example folder of an export; None where it has no calibration data, or they are not made yet."""
        from harness.data.materialise import find  # noqa: PLC0415 - only commands with data need it

        request = _calibration_request(export)
        if request is None:
            return None
        provider = _load_provider(request, self._settings)
        return find(provider, request, export.inputs, Split.CALIBRATION, cache=self._settings.model_cache)

    def prepare(self, export: Export, progress: Progress) -> Path:
        """Return the example folder of an export with calibration data, made where it is not there yet.

        Raises:
            DataUnavailable: It cannot be made.
            EnvironmentProblem: The provider cannot be imported.
        """
        request = _calibration_request(export)
        if request is None:
            raise DataUnavailable(f"the export of `{export.definition}` has no calibration data")
        return prepare_examples(request, export.inputs, Split.CALIBRATION, self._settings, progress)


def open_model_cache(settings: Settings) -> ModelCache:
    """Return the model cache, whose exports calibrate with the data that they name."""
    return ModelCache(settings.model_cache, CalibrationExamples(settings))


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

    provider = _load_provider(request, settings)
    return materialise(provider, request, inputs, split, cache=settings.model_cache, progress=progress)


def _calibration_request(export: Export) -> DataRequest | None:
    """Return the request for calibration data: as many examples as batches, unless it says how many.

    Raises:
        DataUnavailable: It asks for fewer.
    """
    request = export.calibration_data
    if request is None:
        return None
    if request.count is not None and request.count < export.calibration:
        raise DataUnavailable(
            f"`calibration_data` has {request.count} examples, and `calibration` asks for {export.calibration} batches",
            hint="leave `count` out, or lower `calibration`",
        )
    return request.model_copy(update={"count": request.count or export.calibration})


def _load_provider(request: DataRequest, settings: Settings) -> DataProvider:
    try:
        return plugins.data_provider(request.provider, settings)
    except UsageError as error:
        raise DataUnavailable(error.message, hint=error.hint) from error
