"""Reports results to a server as a run does, in a process of its own: `python -m tests.server.reporting ...`."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.result import Report
from harness.testing.results import ok_result
from reporters.remote import create


def main(url: str, cache: str, name: str, count: int, batch: int) -> None:
    """Report results of several runs, whatever the server does meanwhile; what it does not take stays in the spool."""
    settings = dataclasses.replace(Settings(), remote_reporter=url, cache_dir=Path(cache))
    for first in range(0, count, batch):
        reporter = create(settings)
        assert reporter is not None
        for number in range(first, min(first + batch, count)):
            try:
                reporter.report(Report(result=ok_result(uid=f"{name}-{number}", samples=(1.0, 2.0, 3.0))))
            except ReporterFailed:
                continue
        try:
            reporter.close()
        except ReporterFailed:
            continue


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
