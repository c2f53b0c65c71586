"""The application: routes, answers to errors, and the description of the API."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response

import harness
from harness.core.alarm import AlarmReport
from harness.core.device_doubt import PostedDoubts
from harness.core.durations import DurationQuery
from harness.core.errors import EnvironmentProblem, UsageError
from harness.server.access import Access
from harness.server.access_log import AccessLog
from harness.server.answers import BodyProblem, RequestRefused, point_to
from harness.server.config import ServerConfig
from harness.server.envelopes import PostedBatch, PostedResult
from harness.server.error_pages import answer_error, wants_page
from harness.server.gate import STORE_HINT, STORE_SILENT, Gate
from harness.server.limiting import BodyReader
from harness.server.measuring import ServerMetrics
from harness.server.routes import (
    alarms,
    doubts,
    durations,
    pages,
    people,
    request_pages,
    requests,
    results,
    state,
    views,
)
from harness.server.routes.alarms import NewRemark
from harness.server.services import Services
from harness.server.sessions import Signer
from harness.store.database.engine import Database
from harness.store.database.views.reader import History

API: Final = "/api/v1"
_BODIES: Final[tuple[type[BaseModel], ...]] = (
    *(PostedResult, PostedBatch, AlarmReport, NewRemark, PostedDoubts, DurationQuery),
    *(requests.NewRunRequest, requests.NewOffer, requests.NewClaim),
    *(requests.Renewal, requests.Release, requests.Ending),
)
_REFERENCE: Final = "#/components/schemas/{model}"
_PHRASES: Final = {404: "there is nothing at this address", 405: "this address does not answer to this method"}


def create_app(
    database: Database,
    config: ServerConfig,
    *,
    log: AccessLog | None = None,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Return the application of one server.

    Args:
        database: The store; the caller closes it.
        config: Settings of the server.
        log: Its log; None writes to standard error.
        clock: Returns Unix seconds.
    """
    app = FastAPI(
        title="edge-harness results",
        version=harness.__version__,
        description="Results of benchmarks: store them, and ask for what became slower, by how much and since when.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # both would load scripts from another host
        redoc_url=None,
        separate_input_output_schemas=False,
        redirect_slashes=False,
        root_path=config.root,
    )
    signer = Signer(config.secret)
    access = Access(database, config, signer, clock)
    services = Services(
        database=database,
        history=History(database, clock),
        config=config,
        access=access,
        signer=signer,
        bodies=BodyReader(config.limits),
        metrics=ServerMetrics(),
        log=log or AccessLog(sys.stderr, as_json=config.json_log),
        clock=clock,
    )
    app.state.services = services
    for module in (results, views, alarms, requests, doubts, durations):
        app.include_router(module.router, prefix=API)
    for module in (state, pages, people, request_pages):
        app.include_router(module.router)
    _answer_errors(app, services)
    _describe_bodies(app)
    app.add_middleware(Gate, config=config, access=access, log=services.log, metrics=services.metrics)
    return app


def _answer_errors(app: FastAPI, services: Services) -> None:
    """Let every error be answered in the same form."""

    @app.exception_handler(RequestRefused)
    def refuse(request: Request, error: RequestRefused) -> Response:
        return answer_error(error, request.scope, services.config)

    @app.exception_handler(EnvironmentProblem)
    def report_fault(request: Request, error: EnvironmentProblem) -> Response:
        services.log.write_problem(str(error))
        return refuse(request, RequestRefused(503, STORE_SILENT, hint=STORE_HINT, headers={"Retry-After": "5"}))

    @app.exception_handler(UsageError)
    def report_mistake(request: Request, error: UsageError) -> Response:
        return refuse(request, RequestRefused(422, error.message, hint=error.hint or ""))

    @app.exception_handler(RequestValidationError)
    def report_parameters(request: Request, error: RequestValidationError) -> Response:
        problems = [
            BodyProblem(pointer=point_to(problem["loc"]), message=str(problem["msg"]))
            for problem in error.errors()[:20]
        ]
        return refuse(request, RequestRefused(422, "a parameter is not as described", problems=problems))

    @app.exception_handler(HTTPException)
    def report_status(request: Request, error: HTTPException) -> Response:
        message = _PHRASES.get(error.status_code, str(error.detail))
        hint = "" if wants_page(request.scope) else f"{API}/openapi.json describes the API"
        return refuse(request, RequestRefused(error.status_code, message, hint=hint, headers=error.headers))

    @app.exception_handler(Exception)
    def report_bug(request: Request, error: Exception) -> Response:
        services.log.write_problem("".join(traceback.format_exception(error)))
        return refuse(request, RequestRefused(500, "a bug in the server", hint="its log shows where"))


def _describe_bodies(app: FastAPI) -> None:
    """Let the description of the API tell the bodies, which routes read by themselves."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                separate_input_output_schemas=False,
            )
            _, definitions = models_json_schema([(body, "validation") for body in _BODIES], ref_template=_REFERENCE)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for name, definition in definitions["$defs"].items():
                schemas.setdefault(name, definition)
            for path in document["paths"].values():
                for operation in path.values():
                    _fill_body(operation.get("requestBody", {}))
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]  # as FastAPI's documentation does


def _fill_body(body: dict[str, Any]) -> None:
    names = body.pop("x-model", "")
    if names:
        references = [{"$ref": _REFERENCE.format(model=name)} for name in names.split("|")]
        schema = references[0] if len(references) == 1 else {"anyOf": references}
        body["content"] = {"application/json": {"schema": schema}}
