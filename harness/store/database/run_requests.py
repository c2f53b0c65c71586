"""The queue of runs that persons ask for. It is in the store, so that it outlives server and lab."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import Connection, Row, func, insert, select

from harness.core.errors import UsageError
from harness.store.database.columns import key_text, shown_text
from harness.store.database.engine import Database
from harness.store.database.tables import LAB_OFFERS, RESULTS, RUN_REQUESTS
from harness.store.history import Page
from harness.store.run_requests import MOST_ATTEMPTS, LabOffer, RequestPage, RequestState, RunRequest, WantedRun

_FIRST_REST_S: Final = 5.0
_LONGER: Final = 4.0
_LONGEST_REST_S: Final = 300.0
OFFER_S: Final = 60.0
"""How long an offer is valid that its lab does not repeat."""
_NAMESPACE: Final = uuid.UUID("0d1c2b0e-52c5-5bb4-9a5e-6f3b8e3c7a41")
_OPEN: Final = [state.value for state in RequestState if state.is_open]
_GONE: Final = "the lab that measured it went away"
_REASON_CHARACTERS: Final = 2000


class RequestConflict(UsageError):
    """The state of a request does not allow it."""


class NoSuchRequest(UsageError):
    """There is no such request."""


class TooManyRequests(UsageError):
    """A person has as many open requests as are allowed."""


def announce_offer(database: Database, dispatcher: str, offer: LabOffer, now: float) -> None:
    """Store what a lab offers, for `OFFER_S`; in place of what it offered before.

    Raises:
        EnvironmentProblem: It cannot be stored.
    """
    with database.write() as connection:
        ended = (LAB_OFFERS.c.until <= now) | (LAB_OFFERS.c.dispatcher == dispatcher)
        connection.execute(LAB_OFFERS.delete().where(ended))
        row = {"dispatcher": dispatcher, "until": now + OFFER_S, "offer": offer.model_dump_json()}
        connection.execute(insert(LAB_OFFERS), row)


def list_offers(database: Database, now: float) -> tuple[LabOffer, ...]:
    """Return what labs offer now."""
    with database.read() as connection:
        return tuple(_list_offers(connection, now))


def add_request(
    database: Database,
    person: str,
    key: str,
    wanted: WantedRun,
    *,
    most: int,
    now: float,
) -> tuple[RunRequest, bool]:
    """Put a request into the queue, and return it and whether it is new.

    Args:
        database: Where.
        person: Who asks.
        key: Chosen by the client: the same key of the same person is the same request.
        wanted: What is asked for.
        most: Most open requests of a person.
        now: Unix seconds.

    Raises:
        RequestConflict: The key belongs to another request of this person.
        TooManyRequests: This person has too many open ones.
        UsageError: No lab offers this.
        EnvironmentProblem: It cannot be stored.
    """
    identity = str(uuid.uuid5(_NAMESPACE, f"{person}\n{key}"))
    with database.write() as connection:
        known = connection.execute(select(RUN_REQUESTS).where(RUN_REQUESTS.c.id == identity)).first()
        if known is not None:
            request = _read(known, now)
            if request.wanted != wanted:
                raise RequestConflict("this key belongs to another request", hint="send a new key with a new request")
            return request, False
        refusals = [offer.explain_refusal(*wanted.offered_names) for offer in _list_offers(connection, now)]
        if not refusals:
            raise UsageError("no lab takes requests now", hint="`harness lab dispatch` lets one take them")
        if all(refusals):
            raise UsageError(refusals[0], hint="/api/v1/offers lists what can be asked for")
        is_open = RUN_REQUESTS.c.state.in_(_OPEN)
        count = connection.execute(
            select(func.count()).select_from(RUN_REQUESTS).where(is_open, RUN_REQUESTS.c.person == key_text(person))
        ).scalar()
        if (count or 0) >= most:
            raise TooManyRequests(f"you have {count} open requests, the most of a person", hint="wait, or cancel one")
        row = {
            "id": identity,
            "person": key_text(person),
            "asked": now,
            **wanted.model_dump(),
            "state": RequestState.QUEUED.value,
            "attempts": 0,
            "claim": "",
            "results": "[]",
            "reason": "",
        }
        connection.execute(insert(RUN_REQUESTS), row)
        return _read(_find(connection, identity), now), True


def list_requests(database: Database, page: Page, now: float, *, only_open: bool = False) -> RequestPage:
    """Return a part of all requests, newest first."""
    query = select(RUN_REQUESTS).order_by(RUN_REQUESTS.c.asked.desc(), RUN_REQUESTS.c.id)
    counting = select(func.count()).select_from(RUN_REQUESTS)
    if only_open:
        query, counting = (each.where(RUN_REQUESTS.c.state.in_(_OPEN)) for each in (query, counting))
    with database.read() as connection:
        rows = connection.execute(query.limit(page.limit).offset(page.offset)).all()
        total = connection.execute(counting).scalar() or 0
    return RequestPage(rows=tuple(_read(row, now) for row in rows), total=total)


def find_request(database: Database, identity: str, now: float) -> RunRequest:
    """Return a request.

    Raises:
        NoSuchRequest: There is none.
    """
    with database.read() as connection:
        return _read(_find(connection, identity), now)


def cancel_request(database: Database, identity: str, person: str | None, now: float) -> RunRequest:
    """Cancel a request; one that is measured is stopped when its lab renews the lease.

    Args:
        database: Where.
        identity: Of the request.
        person: Who cancels, whose own it has to be; None for whoever may cancel all.
        now: Unix seconds.

    Raises:
        NoSuchRequest: There is none.
        RequestConflict: It is another person's, or has ended.
    """
    with database.write() as connection:
        row = _find(connection, identity)
        if person is not None and row.person != key_text(person):
            raise RequestConflict("this is a request of somebody else", hint="whoever asked for it can cancel it")
        request = _read(row, now)
        if request.state is RequestState.CANCELLED:
            return request
        if not request.state.is_open:
            raise RequestConflict(f"the request has ended: it is {request.state}")
        _change(connection, identity, state=RequestState.CANCELLED.value, finished=now, lease=None)
        return _read(_find(connection, identity), now)


def claim_request(
    database: Database, dispatcher: str, claim: str, device_classes: Collection[str], *, lease_s: float, now: float
) -> RunRequest | None:
    """Give a lab the next request that it offers: of the person with the fewest running, else of who waits longest.

    Between persons with as many, the one is next whose last request was begun first. The same claim gets the same
    request again: its answer may have been lost.

    Args:
        database: Where.
        dispatcher: Name under which the lab announced its offer.
        claim: Chosen by the lab; it shows it again when it renews, finishes or gives back.
        device_classes: Classes with a device that is free.
        lease_s: How long the request is the lab's unless it renews the lease.
        now: Unix seconds.

    Returns:
        The request, which is running now; None where there is nothing to do.
    """
    with database.write() as connection:
        _end_leases(connection, now)
        known = connection.execute(select(RUN_REQUESTS).where(RUN_REQUESTS.c.claim == claim)).first()
        if known is not None:
            return _read(known, now) if known.state == RequestState.RUNNING.value else None
        offered = connection.execute(select(LAB_OFFERS.c.offer).where(LAB_OFFERS.c.dispatcher == dispatcher)).scalar()
        if offered is None:
            return None
        offer = LabOffer.model_validate_json(offered)
        waiting = [
            row
            for row in connection.execute(select(RUN_REQUESTS).where(RUN_REQUESTS.c.state == RequestState.QUEUED.value))
            if row.device_class in device_classes
            and (row.lease is None or row.lease <= now)
            and not offer.explain_refusal(row.specification, row.benchmark, row.device_class, row.repository)
        ]
        if not waiting:
            return None
        running, begun = _count_running(connection), _last_begun(connection, {row.person for row in waiting})
        chosen = min(waiting, key=lambda row: (running.get(row.person, 0), begun[row.person], row.asked, row.id))
        _change(
            connection,
            chosen.id,
            state=RequestState.RUNNING.value,
            attempts=chosen.attempts + 1,
            claim=claim,
            lease=now + lease_s,
            started=now,
        )
        return _read(_find(connection, chosen.id), now)


def renew_lease(
    database: Database,
    identity: str,
    claim: str,
    *,
    lease_s: float,
    now: float,
    commits: tuple[str, str] = ("", ""),
) -> RunRequest:
    """Keep a request for longer.

    Args:
        database: Where.
        identity: Of the request.
        claim: That of the lab that has it.
        lease_s: How much longer.
        now: Unix seconds.
        commits: Hashes that the names of commit and control mean; empty where they are not known. The first that are
            told stay, so that a request is about the same commits whoever goes on with it.

    Raises:
        NoSuchRequest: There is none.
        RequestConflict: It is no longer this lab's: it was cancelled, or given to another.
    """
    with database.write() as connection:
        row = _require_claim(connection, identity, claim)
        known = {"commit_id": commits[0], "control_id": commits[1]} if not row.commit_id else {}
        _change(connection, identity, lease=now + lease_s, **known)
        return _read(_find(connection, identity), now)


def release_request(
    database: Database, identity: str, claim: str, reason: str, now: float, *, is_counted: bool = True
) -> RunRequest:
    """Give a request back to the queue; after `MOST_ATTEMPTS` that are counted it has failed.

    What counts rests before it is given to a lab again, longer each time: what is away now may be back then.

    Raises:
        NoSuchRequest: There is none.
        RequestConflict: It is no longer this lab's.
    """
    with database.write() as connection:
        row = _require_claim(connection, identity, claim)
        if not is_counted:
            _change(connection, identity, attempts=row.attempts - 1)
            row = _require_claim(connection, identity, claim)
        rest_s = min(_FIRST_REST_S * _LONGER ** (row.attempts - 1), _LONGEST_REST_S) if is_counted else 0.0
        _give_back(connection, row, reason, now, rest_s=rest_s)
        return _read(_find(connection, identity), now)


def finish_request(
    database: Database,
    identity: str,
    claim: str,
    state: RequestState,
    results: Sequence[str],
    *,
    reason: str,
    now: float,
) -> RunRequest:
    """End a request. The same end again changes nothing.

    Args:
        database: Where.
        identity: Of the request.
        claim: That of the lab that has it.
        state: `done` or `failed`.
        results: Uids of its results, which have to be in the store.
        reason: Why it failed, or what failed of it.
        now: Unix seconds.

    Raises:
        NoSuchRequest: There is none.
        RequestConflict: It is no longer this lab's, or a result is not in the store.
    """
    with database.write() as connection:
        row = _find(connection, identity)
        ended = (state.value, json.dumps(list(results)))
        if row.claim == claim and (row.state, row.results) == ended:
            return _read(row, now)
        _require_claim(connection, identity, claim)
        stored = set(connection.execute(select(RESULTS.c.uid).where(RESULTS.c.uid.in_(results))).scalars())
        missing = [uid for uid in results if uid not in stored]
        if missing:
            raise RequestConflict(
                f"{len(missing)} of its results are not in the store", hint="report them first, and finish it then"
            )
        words = shown_text(reason[:_REASON_CHARACTERS])
        _change(connection, identity, state=ended[0], results=ended[1], reason=words, finished=now, lease=None)
        return _read(_find(connection, identity), now)


def _list_offers(connection: Connection, now: float) -> list[LabOffer]:
    query = select(LAB_OFFERS.c.offer).where(LAB_OFFERS.c.until > now).order_by(LAB_OFFERS.c.dispatcher)
    return [LabOffer.model_validate_json(text) for text in connection.execute(query).scalars()]


def _find(connection: Connection, identity: str) -> Row[tuple[object, ...]]:
    row = connection.execute(select(RUN_REQUESTS).where(RUN_REQUESTS.c.id == key_text(identity))).first()
    if row is None:
        raise NoSuchRequest("there is no such request", hint="/api/v1/requests lists them")
    return row


def _require_claim(connection: Connection, identity: str, claim: str) -> Row[tuple[object, ...]]:
    row = _find(connection, identity)
    if row.state != RequestState.RUNNING.value or row.claim != claim:
        state = "is measured by another lab" if row.state == RequestState.RUNNING.value else f"is {row.state}"
        raise RequestConflict(f"the request is no longer yours: it {state}", hint="stop measuring it")
    return row


def _change(connection: Connection, identity: str, **values: object) -> None:
    connection.execute(RUN_REQUESTS.update().where(RUN_REQUESTS.c.id == identity).values(values))


def _end_leases(connection: Connection, now: float) -> None:
    """Put requests back into the queue whose labs went away."""
    is_over = (RUN_REQUESTS.c.state == RequestState.RUNNING.value) & (RUN_REQUESTS.c.lease <= now)
    for row in connection.execute(select(RUN_REQUESTS).where(is_over)).all():
        _give_back(connection, row, _GONE, now)


def _give_back(
    connection: Connection, row: Row[tuple[object, ...]], reason: str, now: float, *, rest_s: float = 0.0
) -> None:
    words = shown_text(reason[:_REASON_CHARACTERS])
    if row.attempts < MOST_ATTEMPTS:
        _change(connection, row.id, state=RequestState.QUEUED.value, lease=now + rest_s, claim="", reason=words)
        return
    words = f"{words}; it was begun {row.attempts} times"
    _change(connection, row.id, state=RequestState.FAILED.value, lease=None, finished=now, reason=words)


def _count_running(connection: Connection) -> dict[str, int]:
    persons = RUN_REQUESTS.c.person
    query = select(persons, func.count()).where(RUN_REQUESTS.c.state == RequestState.RUNNING.value).group_by(persons)
    return {row[0]: row[1] for row in connection.execute(query)}


def _last_begun(connection: Connection, persons: Collection[str]) -> dict[str, float]:
    """Return when a request of each person was begun last; 0 for never."""
    begun = dict.fromkeys(persons, 0.0)
    query = select(RUN_REQUESTS.c.person, func.max(RUN_REQUESTS.c.started)).where(RUN_REQUESTS.c.person.in_(persons))
    for person, time in connection.execute(query.group_by(RUN_REQUESTS.c.person)):
        begun[person] = time or 0.0
    return begun


def _read(row: Row[tuple[object, ...]], now: float) -> RunRequest:
    """Return a request; one whose lab went away as what it becomes with the next claim."""
    state, reason = RequestState(row.state), row.reason
    if state is RequestState.RUNNING and row.lease is not None and row.lease <= now:
        state, reason = RequestState.QUEUED, _GONE
    return RunRequest(
        id=row.id,
        person=row.person,
        asked=row.asked,
        specification=row.specification,
        benchmark=row.benchmark,
        device_class=row.device_class,
        repository=row.repository,
        commit=row.commit,
        control=row.control,
        pairs=row.pairs,
        commit_id=row.commit_id,
        control_id=row.control_id,
        state=state,
        attempts=row.attempts,
        started=row.started,
        finished=row.finished,
        results=tuple(json.loads(row.results)),
        reason=reason,
    )
