"""Comparisons on simulated devices, stored in a folder, optionally interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.config.settings import Settings
from harness.core.comparison import Parameters
from harness.core.result import Report, Result
from harness.core.verdict import Verdict
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


class RecordingReporter:
    """Reporter that records results in the order in which they were reported."""

    name = "recording"

    def __init__(self) -> None:
        self.results: list[Result] = []

    def report(self, report: Report) -> None:
        self.results.append(report.result)

    def close(self) -> None:
        pass

    def verdicts(self) -> list[tuple[str, str, Verdict]]:
        return [
            (
                result.benchmark.identifier,
                result.device.name if result.device else "",
                result.comparison.effective_verdict,
            )
            for result in self.results
            if result.comparison
        ]


class Run:
    """One comparison of several benchmarks on several devices. Runs in the same folder share journals and results."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(cache_dir=folder)
        self.journals = folder / "comparisons"
        self.results = folder / "results"
        self.recorder = RecordingReporter()
        self.listener = RecordingReporter()
        self.launched: list[str] = []
        self.display = RecordedProgress()
        self.reporting = Reporting((self.recorder, LocalReporter(self.results)), self.display, (self.listener,))

    def compare(
        self,
        devices: Sequence[str],
        names: Sequence[str],
        *,
        parameters: Parameters = FEWEST,
        resume: bool = False,
        watch: Watch = lambda _: None,
        metrics: tuple[str, ...] = (),
    ) -> list[tuple[str, str, Verdict]]:
        made = plan(Instant(devices, self._watching(watch)), names)
        return self.follow(made, parameters=parameters, resume=resume, metrics=metrics)

    def follow(
        self,
        made: Plan,
        *,
        parameters: Parameters = FEWEST,
        resume: bool = False,
        check: Callable[[], None] = lambda: None,
        metrics: tuple[str, ...] = (),
    ) -> list[tuple[str, str, Verdict]]:
        request = ComparisonTask(installed_runner, installed_runner, parameters, metrics, resume=resume, check=check)
        flow = ComparisonStages(request, self.settings, made, files={}, reporting=self.reporting, display=self.display)
        flow.run(builds(made, "control"), builds(made, "treatment"))
        return self.recorder.verdicts()

    def waiting(self) -> int:
        return len(list(self.journals.glob("*.jsonl")))

    def launches_of(self, device: str, name: str = "") -> int:
        """Count the launches of a benchmark on a device."""
        return sum(launch.startswith(f"{device} {name}") for launch in self.launched)

    def _watching(self, watch: Watch) -> Watch:
        def watching(launch: str) -> None:
            self.launched.append(launch)
            watch(launch)

        return watching
