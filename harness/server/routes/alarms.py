"""Routes of alarms: the watcher reports them, and persons say what they do about them."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field

from harness.core.alarm import AlarmReport
from harness.core.errors import UsageError
from harness.core.values import Value
from harness.server.access import Caller
from harness.server.answers import RequestRefused
from harness.server.bodies import parse_document, read_json
from harness.server.routes.dependencies import (
    BODY_ERRORS,
    ERRORS,
    NOT_FOUND,
    PartHere,
    PeriodHere,
    Reader,
    SelectionHere,
    ServicesHere,
    Writer,
)
from harness.server.services import Services
from harness.store.database.alarms import add_remark, store_alarm
from harness.store.history import AlarmAction, AlarmDetail, AlarmRemark, AlarmRow

router = APIRouter(responses=ERRORS, tags=["alarms"])

_LATEST_S: Final = 253_402_300_799.0
"""End of the year 9999, which stands for a mute without an end."""


class NewRemark(Value):
    """What a person does about an alarm; the token says who.

    Attributes:
        action: What.
        text: Why.
        until: End of a mute, Unix seconds; null has none.
    """

    action: AlarmAction
    text: Annotated[str, Field(max_length=4000)] = ""
    until: Annotated[float, Field(ge=0, le=_LATEST_S)] | None = None


class StoredReport(Value):
    """What became of a report of an alarm.

    Attributes:
        identity: Identity of the alarm.
        changed: Whether it told anything new; an older report than the stored one does not.
    """

    identity: str
    changed: bool


@router.post(
    "/alarms", responses=BODY_ERRORS, openapi_extra={"requestBody": {"required": True, "x-model": "AlarmReport"}}
)
async def report_alarm(request: Request, services: ServicesHere, _caller: Writer) -> StoredReport:
    """Store a report of an alarm, as the watcher writes it. Reports may arrive twice, and in any order."""
    async with read_json(request, services) as body:
        report = parse_document(AlarmReport, body)
    changed = await services.write(lambda: store_alarm(services.database, report, now=services.clock()))
    return StoredReport(identity=report.alarm.identity, changed=changed)


@router.get("/alarms")
def alarms(
    services: ServicesHere,
    selection: SelectionHere,
    period: PeriodHere,
    part: PartHere,
    _caller: Reader,
    only_open: Annotated[bool, Query(description="Leave out closed ones")] = False,
) -> tuple[AlarmRow, ...]:
    """Return alarms, newest first."""
    return services.history.alarms(only_open=only_open, selection=selection, period=period, page=part)


@router.get("/alarms/{identity}", responses=NOT_FOUND)
def alarm(services: ServicesHere, identity: Annotated[str, Path(max_length=1000)], _caller: Reader) -> AlarmDetail:
    """Return everything about an alarm."""
    detail = services.history.alarm(identity)
    if detail is None:
        raise RequestRefused(404, "there is no such alarm", hint="/api/v1/alarms lists them")
    return detail


@router.post(
    "/alarms/{identity}/remarks",
    status_code=201,
    responses={**NOT_FOUND, **BODY_ERRORS},
    openapi_extra={"requestBody": {"required": True, "x-model": "NewRemark"}},
)
async def remark(
    request: Request, services: ServicesHere, identity: Annotated[str, Path(max_length=1000)], caller: Writer
) -> AlarmRemark:
    """Acknowledge, mute, unmute or comment an alarm."""
    async with read_json(request, services) as body:
        new = parse_document(NewRemark, body)
    return await store_remark(services, identity, new, caller)


async def store_remark(services: Services, identity: str, new: NewRemark, caller: Caller) -> AlarmRemark:
    """Store what a person does about an alarm.

    Raises:
        RequestRefused: There is no such alarm (404).
        EnvironmentProblem: It cannot be stored.
    """
    until = new.until if new.action is AlarmAction.MUTE else None
    remark_here = AlarmRemark(action=new.action, person=caller.name, time=services.clock(), text=new.text, until=until)
    try:
        await services.write(lambda: add_remark(services.database, identity, remark_here))
    except UsageError as error:
        raise RequestRefused(404, "there is no such alarm", hint="/api/v1/alarms lists them") from error
    return remark_here
