"""Applications that are started in place of programs."""

from __future__ import annotations

from harness.core.values import Value


class App(Value):
    """Installed application that is started in place of a program.

    Attributes:
        package: Name of the package, for example `org.pytorch.minibench`.
        activity: Activity to start, for example `.BenchmarkActivity`.
        result: File in the app's own folder that it writes at its end, and that then counts as its standard output;
            empty for an app that says `BENCHMARK_DONE` in the system's log, whose lines there count (FAI-PEP's
            protocol).
    """

    package: str
    activity: str
    result: str = ""
