"""The pages and one picture of the samples as they are kept beside the tests.

`python -m tests.reporters.alarms.golden_alarms` writes them anew: look at the difference before you keep it.
"""

from __future__ import annotations

from pathlib import Path

from reporters.alarms.page import render
from reporters.alarms.plot import picture
from tests.reporters.alarms import alarm_samples as samples

FOLDER = Path(__file__).parent / "golden"

REPORTS = {
    "bisected-step": samples.bisected_step(),
    "confirmed-step": samples.found_step(),
    "confirmed-drift": samples.confirmed_drift(),
    "improvement": samples.improvement(),
    "closed": samples.closed(),
    "two-culprits": samples.two_culprits(),
    "unbuildable-range": samples.unbuildable_range(),
    "nasty-subjects": samples.nasty_subjects(),
}


def current() -> dict[str, str]:
    """Text by file name."""
    pages = {f"{name}.md": render(report) for name, report in REPORTS.items()}
    return {**pages, "bisected-step.svg": picture(REPORTS["bisected-step"])}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in current().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
