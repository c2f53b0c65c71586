"""Routes about the server itself: whether it works, its numbers, and the description of the API."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy import func, select
from starlette.responses import JSONResponse, Response

import harness
from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.server.access import Caller
from harness.server.measuring import CONTENT_TYPE
from harness.server.routes.dependencies import ServicesHere, require
from harness.server.services import Services
from harness.store.database import schema
from harness.store.database.tables import RESULTS
from harness.store.database.tokens import Scope

router = APIRouter(tags=["server"])


class ServerHealth(Value):
    """State of the server.

    Attributes:
        status: `ok`, or `store unreachable`.
        version: Of the harness.
        schema_version: Of the database.
        free_bytes: Room on the disk of its files; null where that is not known.
    """

    status: str
    version: str
    schema_version: str
    free_bytes: int | None = None


@router.get(
    "/health",
    response_model=ServerHealth,
    responses={503: {"model": ServerHealth, "description": "The store cannot be read"}},
)
def health(services: ServicesHere) -> ServerHealth | JSONResponse:
    """Return whether the server and its store work; for whoever watches over it."""
    free = _find_free_bytes(services.database.artifacts.path)
    state = ServerHealth(status="ok", version=harness.__version__, schema_version=str(schema.VERSION), free_bytes=free)
    try:
        with services.database.read() as connection:
            connection.execute(select(RESULTS.c.id).limit(1)).first()
    except EnvironmentProblem as problem:
        services.log.write_problem(str(problem))
        return JSONResponse(state.model_copy(update={"status": "store unreachable"}).model_dump(), 503)
    return state


@router.get("/metrics", responses={200: {"content": {CONTENT_TYPE.partition(";")[0]: {}}}}, response_model=None)
def metrics(services: ServicesHere, _caller: Annotated[Caller, Depends(require(Scope.READ))]) -> Response:
    """Return numbers about the server as OpenMetrics."""
    return Response(services.metrics.render(_gauges(services)), headers={"Content-Type": CONTENT_TYPE})


def _gauges(services: Services) -> dict[str, tuple[str, float]]:
    gauges: dict[str, tuple[str, float]] = {}
    with services.database.read() as connection:
        gauges["harness_store_results"] = (
            "Results in the store.",
            float(connection.execute(select(func.count()).select_from(RESULTS)).scalar_one()),
        )
        if services.database.dialect == "postgresql":
            size = float(connection.execute(select(func.pg_database_size(func.current_database()))).scalar_one())
        else:
            files = (Path(f"{services.database.place}{suffix}") for suffix in ("", "-wal"))
            size = float(sum(file.stat().st_size for file in files if file.exists()))
    gauges["harness_store_bytes"] = ("Size of the database, without files of results.", size)
    free = _find_free_bytes(services.database.artifacts.path)
    if free is not None:
        gauges["harness_store_free_bytes"] = ("Room on the disk of files of results.", float(free))
    return gauges


def _find_free_bytes(folder: Path) -> int | None:
    place = next((parent for parent in (folder, *folder.absolute().parents) if parent.exists()), None)
    try:
        return shutil.disk_usage(place).free if place is not None else None
    except OSError:
        return None
