"""Frame of every page: navigation, filters, and what templates share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import harness
from harness.core.effect import Effect
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.dashboard.links import Site
from harness.dashboard.wording import format_range, name_commit
from harness.presentation.numbers import format_change, format_factor, format_interval, format_percent, format_quantity
from harness.presentation.times import format_time, to_datetime
from harness.presentation.verdicts import CATEGORY_OF_VERDICT, VerdictCategory
from harness.store.history import CommitInfo, Figure, Page, ResultRow
from reporters.document.rendering import render_page

_PACKAGE: Final = "harness.dashboard"


class Shown:
    """Values as texts: what templates call for every figure, so that all pages format alike."""

    def figure(self, figure: Figure | None) -> str:
        """Return a median with its unit; empty where there is none."""
        if figure is None or figure.median is None:
            return ""
        return format_quantity(figure.median, figure.metric.unit)

    def quantity(self, value: float | None, unit: str) -> str:
        """Return a value with its unit; empty where there is none."""
        return "" if value is None else format_quantity(value, unit)

    def range(self, low: float | None, high: float | None, unit: str) -> str:
        """Return an interval with its unit; empty where there is none."""
        if low is None or high is None:
            return ""
        return format_range(low, high, unit)

    def commit(self, commit: CommitInfo) -> str:
        """Return the short name of a commit."""
        return name_commit(commit)

    def change(self, effect: Effect | None) -> str:
        """Return a relative change; empty where there is none."""
        return "" if effect is None else format_change(effect.relative_change)

    def interval(self, effect: Effect | None) -> str:
        """Return the interval of a relative change; empty where there is none."""
        if effect is None or (effect.low_log_ratio is None and effect.high_log_ratio is None):
            return ""
        return format_interval(effect.low_relative_change, effect.high_relative_change)

    def factor(self, value: float) -> str:
        """Return how many times as fast something is."""
        return format_factor(value)

    def share(self, value: float) -> str:
        """Return a share in percent."""
        return format_percent(value)

    def state(self, row: ResultRow) -> str:
        """Return the class of a result: how it ended, else its verdict, else `plain`."""
        if row.outcome is not Outcome.OK:
            return "skipped" if row.outcome.is_skipped else "failed"
        return self.category(row.contrast.verdict).slug if row.contrast is not None else "plain"

    def states(self, rows: Sequence[ResultRow]) -> list[tuple[str, str, str, int]]:
        """Return class, mark, word and number of each state that rows are in, the gravest first."""
        counts = Counter(map(self.state, rows))
        known = [(each.slug, each.mark, each.word) for each in VerdictCategory]
        known.sort(key=lambda each: each[0] != VerdictCategory.FAILED.slug)
        return [
            (slug, mark, word if counts[slug] == 1 or not word.startswith(("reg", "imp")) else f"{word}s", counts[slug])
            for slug, mark, word in [*known, ("plain", "·", "without a control")]
            if counts[slug]
        ]

    def namesakes(self, rows: Sequence[ResultRow]) -> frozenset[str]:
        """Return the keys of cells that differ by nothing of what a row shows but by their definition."""
        keys: dict[tuple[str, str, str], set[str]] = {}
        for row in rows:
            cell = row.cell
            keys.setdefault((cell.title, cell.backend, cell.device.identity), set()).add(cell.key)
        return frozenset(key for same in keys.values() if len(same) > 1 for key in same)

    def category(self, verdict: Verdict) -> VerdictCategory:
        """Return the category of a verdict, with its mark and class."""
        return CATEGORY_OF_VERDICT[verdict]

    def time(self, seconds: float | None) -> str:
        """Return a time to the minute (UTC); empty where there is none, and for what no calendar has."""
        return format_time(seconds)

    def machine_time(self, seconds: float | None) -> str:
        """Return the same for programs (`<time datetime>`)."""
        moment = to_datetime(seconds)
        return moment.isoformat(timespec="seconds") if moment is not None else ""

    def query(self, conditions: Mapping[str, object], page: Page, step: int) -> str:
        """Return the query of the next part of a list, or of the one before (`step` is -1)."""
        given = {name: value for name, value in conditions.items() if value}
        offset = max(page.offset + step * page.limit, 0)
        part = {"limit": page.limit, "offset": offset} if offset else {"limit": page.limit}
        return urlencode({**given, **part}, doseq=True)


def render_view(template: str, site: Site, *, title: str, view: str = "", **values: object) -> str:
    """Render a template that extends `frame.html`.

    Args:
        template: File name in `templates`.
        site: What all pages have in common.
        title: Title of the page.
        view: Name of the entry of the navigation that the page belongs to.
        values: Values that the template uses.
    """
    return render_page(
        _PACKAGE,
        template,
        title=f"{title} · {site.title}",
        own_styles=("dashboard.css", "history.css"),
        own_script="dashboard.js",
        heading=title,
        site=site,
        links=site.links,
        view=view,
        show=Shown(),
        version=harness.__version__,
        **values,
    )
