"""Commits: lists, one by its name, and its results.

A commit is its id. The same id of several sources, as of two copies of one repository, is one commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, case, func, or_, select

from harness.core.build import NO_COMMITS, PREBUILT
from harness.core.errors import UsageError
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.store.database.columns import key_text
from harness.store.database.tables import COMMITS, CONTRASTS, RESULTS
from harness.store.database.views.rows import is_measured_again, load_rows, to_commit
from harness.store.database.views.selecting import contains, is_stored_text, list_cells, split
from harness.store.history import CommitInfo, CommitPage, CommitRow, Page, ResultPage, Selection

SHORTEST_PREFIX: Final = 4
"""Fewer characters of an id name no commit, as in git."""

_LISTED: Final = 5
_NOT_FAILED: Final = [outcome.value for outcome in Outcome if outcome is Outcome.OK or outcome.is_skipped]


def list_commits(connection: Connection, text: str, page: Page) -> CommitPage:
    """Return commits with results, by their newest measurement, newest first; given programs are none."""
    conditions: list[ColumnElement[bool]] = [
        COMMITS.c.measured.is_not(None),
        COMMITS.c.source.not_in(sorted(NO_COMMITS)),
        or_(COMMITS.c.source != PREBUILT, COMMITS.c.name == ""),  # as `CommitInfo.is_given`
    ]
    if text:
        conditions.append(contains((COMMITS.c.sha, COMMITS.c.name, COMMITS.c.subject), text))
    newest = func.max(COMMITS.c.measured)
    query = select(COMMITS.c.sha).where(*conditions).group_by(COMMITS.c.sha).order_by(newest.desc(), COMMITS.c.sha)
    ids = connection.scalars(query.limit(page.limit).offset(page.offset)).all()
    total = connection.scalar(select(func.count(COMMITS.c.sha.distinct())).where(*conditions)) or 0
    return CommitPage(rows=tuple(_describe(connection, ids)), total=total)


def find_commit(connection: Connection, name: str) -> CommitRow | None:
    """Return a commit by its id, the name that it was asked for by, or the beginning of its id.

    Raises:
        UsageError: Several begin so, or have the name.
    """
    if not name or not is_stored_text(name):
        return None
    name = key_text(name)
    begins = func.substr(COMMITS.c.sha, 1, len(name)) == name.lower()
    conditions: list[ColumnElement[bool]] = [COMMITS.c.sha == name, COMMITS.c.name == name]
    if len(name) >= SHORTEST_PREFIX:
        conditions.append(or_(begins, func.substr(COMMITS.c.sha, 1, len(name)) == name))
    for condition in conditions:
        newest_first = func.max(func.coalesce(COMMITS.c.measured, 0)).desc()
        query = select(COMMITS.c.sha).where(condition).group_by(COMMITS.c.sha).order_by(newest_first, COMMITS.c.sha)
        ids = connection.scalars(query.limit(_LISTED + 1)).all()
        if len(ids) > 1:
            raise _make_ambiguous(name, ids)
        if ids:
            return _describe(connection, ids)[0]
    return None


def list_results_of(connection: Connection, commit: str, selection: Selection, page: Page) -> ResultPage:
    """Return the newest result of each cell at a commit; failures first, then regressions, the largest first."""
    places = {cell.id: place for place, cell in enumerate(list_cells(connection, _without_categories(selection)))}
    chosen = find_newest(connection, commit, selection.categories)
    query = select(RESULTS.c.id, RESULTS.c.outcome, CONTRASTS.c.verdict, CONTRASTS.c.log_ratio).outerjoin(
        CONTRASTS, CONTRASTS.c.result_id == RESULTS.c.id
    )
    cells = {result: cell for cell, result in chosen.items() if cell in places}
    ranked = sorted(
        (_rank(outcome, verdict, log_ratio), places[cells[identity]], identity)
        for part in split(list(cells))
        for identity, outcome, verdict, log_ratio in connection.execute(query.where(RESULTS.c.id.in_(part)))
    )
    ids = [identity for _, _, identity in ranked[page.offset : page.offset + page.limit]]
    return ResultPage(rows=tuple(load_rows(connection, ids)), total=len(ranked))


def find_newest(connection: Connection, commit: str, categories: Sequence[str] = ()) -> dict[int, int]:
    """Return the newest result of each cell at a commit, by the ids of the cells."""
    if not is_stored_text(commit):
        return {}
    same = select(COMMITS.c.id).where(COMMITS.c.sha == key_text(commit))
    query = select(RESULTS.c.cell_id, RESULTS.c.id).where(RESULTS.c.commit_id.in_(same))
    if categories:
        query = query.where(RESULTS.c.category.in_(list(filter(is_stored_text, categories))))
    rows = connection.execute(query.order_by(RESULTS.c.started, RESULTS.c.id))
    return {cell: result for cell, result in rows}  # noqa: C416 - a row is a tuple, and the newest of a cell comes last


def _without_categories(selection: Selection) -> Selection:
    return selection.model_copy(update={"categories": ()})


def _rank(outcome: str, verdict: str | None, log_ratio: float | None) -> tuple[int, float]:
    size = -abs(log_ratio or 0.0)
    if outcome not in _NOT_FAILED:
        return 0, 0.0
    return {Verdict.REGRESSION.value: (1, size), Verdict.IMPROVEMENT.value: (2, size)}.get(verdict or "", (3, 0.0))


def _make_ambiguous(name: str, ids: Sequence[str]) -> UsageError:
    more = ", ..." if len(ids) > _LISTED else ""
    listed = ", ".join(ids[:_LISTED]) + more
    return UsageError(f"`{name}` may be several commits: {listed}", hint="give more characters of its id")


def _describe(connection: Connection, shas: Sequence[str]) -> list[CommitRow]:
    """Return commits by their ids, in that order."""
    found = [
        row for part in split(list(shas)) for row in connection.execute(select(COMMITS).where(COMMITS.c.sha.in_(part)))
    ]
    results = _count_results(connection, [row.id for row in found])
    verdicts = _count_verdicts(connection, [row.id for row in found])
    measured = _find_measured(connection, [row.id for row in found if row.measured is None])
    rows: dict[str, CommitRow] = {}
    for row in sorted(found, key=lambda row: (row.measured or 0.0, row.id)):
        counted, failed = results.get(row.id, (0, 0))
        worse, better = verdicts.get(row.id, (0, 0))
        others = rows.get(row.sha)
        rows[row.sha] = CommitRow(
            commit=_merge(row, others),
            results=counted + (others.results if others else 0),
            failed=failed + (others.failed if others else 0),
            regressions=worse + (others.regressions if others else 0),
            improvements=better + (others.improvements if others else 0),
            measured=max(measured.get(row.id, row.measured or row.time or 0.0), others.measured if others else 0.0),
        )
    return [rows[sha] for sha in shas if sha in rows]


def _merge(row: Row[*tuple[Any, ...]], others: CommitRow | None) -> CommitInfo:
    """Return a commit with what the same id of other sources adds."""
    commit = to_commit(row)
    if others is None:
        return commit
    known = {name: value for name, value in others.commit if value not in ("", None)}
    own = {name: value for name, value in commit if value not in ("", None)}
    return commit.model_copy(update={**known, **own})


def _count_results(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the numbers of results and of failed ones of commits; an index has all of it."""
    failed = func.sum(case((RESULTS.c.outcome.in_(_NOT_FAILED), 0), else_=1))
    query = select(RESULTS.c.commit_id, func.count(), failed).group_by(RESULTS.c.commit_id)
    return {
        commit: (count, int(failures))
        for part in split(ids)
        for commit, count, failures in connection.execute(query.where(RESULTS.c.commit_id.in_(part)))
    }


def _count_verdicts(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the numbers of regressions and improvements: of comparisons made again, the newest counts."""
    changed = CONTRASTS.c.verdict.in_((Verdict.REGRESSION.value, Verdict.IMPROVEMENT.value))
    query = select(CONTRASTS.c.commit_id, CONTRASTS.c.verdict, func.count()).where(changed, ~is_measured_again())
    query = query.group_by(CONTRASTS.c.commit_id, CONTRASTS.c.verdict)
    counts = {
        (commit, verdict): count
        for part in split(ids)
        for commit, verdict, count in connection.execute(query.where(CONTRASTS.c.commit_id.in_(part)))
    }
    return {
        identity: (
            counts.get((identity, Verdict.REGRESSION.value), 0),
            counts.get((identity, Verdict.IMPROVEMENT.value), 0),
        )
        for identity in ids
    }


def _find_measured(connection: Connection, ids: Sequence[int]) -> dict[int, float]:
    """Return when commits without results were last measured as a control."""
    query = select(CONTRASTS.c.control_id, func.max(CONTRASTS.c.started)).group_by(CONTRASTS.c.control_id)
    return {
        control: started
        for part in split(ids)
        for control, started in connection.execute(query.where(CONTRASTS.c.control_id.in_(part)))
    }
