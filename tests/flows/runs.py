"""Comparisons on devices that answer at once, kept in a folder, perhaps interrupted, perhaps gone on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.config.settings import Settings
from harness.core.comparison import Parameters, Verdict
from harness.core.result import Report, Result
from harness.flows.compare.compare import ComparisonStages, ComparisonTask
from harness.flows.measure.plan import Plan
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.runners import installed_runner
from harness.testing.progress import RecordedProgress
from reporters.local import LocalReporter
from tests.flows.instant import Instant, Watch, builds, plan

FEWEST = Parameters(seed=3, max_pairs=8)
"""Eight pairs give a clear regression evidence between 100 and 200: of ten benchmarks, two have to be regressions."""

SAME = [f"same-{number}" for number in range(4)]


class Kept:
    """A reporter that remembers results in the order in which they were told."""

    name = "kept"

    def __init__(self) -> None:
        self.results: list[Result] = []

    def report(self, report: Report) -> None:
        self.results.append(report.result)

    def close(self) -> None:
        pass

    def told(self) -> list[tuple[str, str, Verdict]]:
        return [
            (one.benchmark.identifier, one.device.name if one.device else "", one.comparison.effective_verdict)
            for one in self.results
            if one.comparison
        ]


class Run:
    """One comparison of several benchmarks on several devices. Runs in the same folder share journals and results."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(cache_dir=folder)
        self.journals = folder / "comparisons"
        self.results = folder / "results"
        self.kept = Kept()
        self.heard = Kept()
        self.launched: list[str] = []
        self.display = RecordedProgress()
        self.reporting = Reporting((self.kept, LocalReporter(self.results)), self.display, (self.heard,))

    def compare(
        self,
        devices: Sequence[str],
        names: Sequence[str],
        *,
        parameters: Parameters = FEWEST,
        resume: bool = False,
        watch: Watch = lambda _: None,
    ) -> list[tuple[str, str, Verdict]]:
        made = plan(Instant(devices, self._watching(watch)), names)
        return self.follow(made, parameters=parameters, resume=resume)

    def follow(
        self,
        made: Plan,
        *,
        parameters: Parameters = FEWEST,
        resume: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, str, Verdict]]:
        request = ComparisonTask(installed_runner, installed_runner, parameters, resume=resume, check=check)
        flow = ComparisonStages(request, self.settings, made, files={}, reporting=self.reporting, display=self.display)
        flow.run(builds(made, "control"), builds(made, "treatment"))
        return self.kept.told()

    def waiting(self) -> int:
        return len(list(self.journals.glob("*.jsonl")))

    def launches_of(self, device: str, name: str = "") -> int:
        """How often something was launched there."""
        return sum(one.startswith(f"{device} {name}") for one in self.launched)

    def _watching(self, watch: Watch) -> Watch:
        def watching(launch: str) -> None:
            self.launched.append(launch)
            watch(launch)

        return watching
