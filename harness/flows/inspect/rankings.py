"""Rankings as a document, and the parameters of a ranking from flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError
from rich.console import Console

from harness.core.launch_interval import known_interval
from harness.core.metric import main_metric
from harness.core.ranking import RankingParameters
from harness.core.result import Result
from harness.display.documents import print_document
from harness.flows.compare.requests import explain_parameter
from harness.presentation.documents import RankedProgram, RankingDocument

_FLAGS = {"max_rounds": "rounds", "max_seconds": "seconds"}


def validate_parameters(values: Mapping[str, object]) -> RankingParameters:
    """Return the parameters of a ranking.

    Raises:
        UsageError: A value is out of range; the message names its flag.
    """
    try:
        return RankingParameters.model_validate(values)
    except ValidationError as error:
        raise explain_parameter(error, _FLAGS, "rank") from error


def show(results: Sequence[Result], console: Console) -> None:
    """Show a ranking as a JSON document."""
    programs = (program for result in results if (program := _describe(result)) is not None)
    print_document(RankingDocument(programs=tuple(programs)), console)


def _describe(result: Result) -> RankedProgram | None:
    if result.rank is None:
        return None
    main = main_metric(result.metrics) if result.ok else None
    interval = known_interval(main) if main is not None else None
    return RankedProgram(
        uid=result.uid,
        model=result.benchmark.model,
        identifier=result.benchmark.identifier,
        framework=result.benchmark.framework,
        backend=result.backend,
        device=result.device.identity if result.device is not None else "",
        outcome=result.outcome,
        metric=main.name if main is not None else "",
        unit=main.unit if main is not None else "",
        median=main.median if main is not None else None,
        low=interval.low if interval is not None else None,
        high=interval.high if interval is not None else None,
        rank=result.rank,
        same_work=result.same_work,
    )
