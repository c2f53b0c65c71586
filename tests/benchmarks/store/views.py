"""Every view of a store with parameters that change from call to call, for its cost and its memory.

python -m tests.benchmarks.store.views lab.db
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.store.database.engine import open_database
from harness.store.database.views import History
from harness.store.history import Page, Period, Selection

_MONTH_S = 30 * 86_400.0
ALL, ALWAYS, FIRST = Selection(), Period(), Page()


def make_calls(reader: History, chance: random.Random) -> Mapping[str, Callable[[], object]]:
    """Return a call of each view; each time that it is called it asks for something else."""
    options = reader.options()
    cells = [row.cell for row in reader.latest(ALL, Page(limit=1000)).rows]
    commits = [row.commit.id for row in reader.commits("", Page(limit=1000)).rows]
    uids = [row.uid for row in reader.results(ALL, ALWAYS, Page(limit=500)).rows]
    end = options.last or 0.0

    def pick_period() -> Period:
        start = chance.uniform(options.first or 0.0, end)
        return Period(start=start, end=start + _MONTH_S)

    def pick_selection() -> Selection:
        cell = chance.choice(cells)
        return chance.choice(
            (
                Selection(models=(cell.model,)),
                Selection(backends=(cell.backend,)),
                Selection(devices=(cell.device.identity,)),
                Selection(categories=("nightly",)),
                Selection(text=cell.identifier[:5].upper()),
                ALL,
            )
        )

    def pick_page() -> Page:
        return Page(offset=100 * chance.randrange(20))

    return {
        "options": reader.options,
        "latest": lambda: reader.latest(pick_selection(), FIRST),
        "results": lambda: reader.results(pick_selection(), pick_period(), pick_page()),
        "results, all": lambda: reader.results(ALL, ALWAYS, Page(offset=chance.randrange(options.results))),
        "result": lambda: reader.result(chance.choice(uids)),
        "row": lambda: reader.row(chance.choice(uids)),
        "artifacts": lambda: reader.artifacts(chance.choice(uids)),
        "cell, 500 points": lambda: reader.cell(chance.choice(cells).key, "", ALWAYS, 500),
        "cell, a month": lambda: reader.cell(chance.choice(cells).key, "NET energy", pick_period(), 1000),
        "changes, a month": lambda: reader.changes(pick_period(), pick_selection(), FIRST),
        "changes, all": lambda: reader.changes(ALWAYS, ALL, pick_page()),
        "levels, a month": lambda: reader.levels(pick_period(), pick_selection(), FIRST),
        "commits": lambda: reader.commits("", pick_page()),
        "commits by text": lambda: reader.commits(chance.choice(commits)[:3], FIRST),
        "commit": lambda: reader.commit(chance.choice(commits)[:12]),
        "results of a commit": lambda: reader.results_of(chance.choice(commits), pick_selection(), FIRST),
        "differences": lambda: reader.differences(chance.choice(commits), chance.choice(commits), ALL),
        "backends": lambda: reader.backends(chance.choice(options.models), ()),
        "coverage": lambda: reader.coverage(pick_selection(), end - _MONTH_S),
        "alarms": lambda: reader.alarms(only_open=False, selection=pick_selection(), period=ALWAYS, page=FIRST),
    }


def main() -> None:
    """Call every view often, and print the largest resident memory in MiB before and after."""
    with open_database(Path(sys.argv[1]), create=False) as database:
        before = _read_peak_mib()
        for _ in range(10):
            for call in make_calls(History(database), random.Random(1)).values():
                call()
        print(f"{before:.0f} {_read_peak_mib():.0f}")


def _read_peak_mib() -> float:
    """Return the largest resident memory so far; `ru_maxrss` would be that of the parent, since it survives `exec`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main()
