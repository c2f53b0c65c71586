"""How long benchmarks took, by the results of a database."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import exists, func, select

from harness.core.durations import DurationQuery, measured_duration_s
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.store.database.columns import key_text
from harness.store.database.engine import Database
from harness.store.database.packing import unpack_body
from harness.store.database.tables import BENCHMARKS, CELLS, CONTRASTS, DEVICES, RESULTS

_CHUNK = 300


def load_durations(database: Database, query: DurationQuery) -> Mapping[str, float]:
    """Return how long benchmarks took, in seconds by their digests, as the newest good results say.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    found: dict[str, float] = {}
    devices = [key_text(device) for device in query.devices]
    is_compared = exists().where(CONTRASTS.c.result_id == RESULTS.c.id)
    with database.read() as connection:
        for start in range(0, len(query.benchmarks), _CHUNK):
            digests = {key_text(digest): digest for digest in query.benchmarks[start : start + _CHUNK]}
            place = func.row_number().over(partition_by=BENCHMARKS.c.id, order_by=RESULTS.c.started.desc())
            ranked = (
                select(RESULTS.c.id, BENCHMARKS.c.digest, place.label("place"))
                .join(CELLS, CELLS.c.id == RESULTS.c.cell_id)
                .join(BENCHMARKS, BENCHMARKS.c.id == CELLS.c.benchmark_id)
                .join(DEVICES, DEVICES.c.id == CELLS.c.device_id)
                .where(
                    BENCHMARKS.c.digest.in_(list(digests)),
                    DEVICES.c.identity.in_(devices),
                    RESULTS.c.outcome == Outcome.OK.value,
                    is_compared if query.pairs else ~is_compared,
                )
                .subquery()
            )
            newest = select(ranked.c.digest, RESULTS.c.body).join(ranked, ranked.c.id == RESULTS.c.id)
            for digest, body in connection.execute(newest.where(ranked.c.place == 1)):
                seconds = measured_duration_s(Result.model_validate_json(unpack_body(body)), pairs=query.pairs)
                if seconds is not None:
                    found[digests[digest]] = seconds
    return found
