"""Applications that are started in place of programs."""

from pydantic import Field

from harness.core.values import Value


class App(Value):
    """Installed application that is started in place of a program.

    Attributes:
        package: Name of the package, for example `org.pytorch.minibench`; on iPhones its bundle identifier.
        activity: Activity to start, for example `.BenchmarkActivity`; empty on iPhones, which have none.
        result: File in the app's own folder that it writes at its end, and that then counts as its standard output;
            empty for an app that says `BENCHMARK_DONE` in the system's log, whose lines there count (FAI-PEP's
            protocol).
        tests: Bundle of Xcode's tests that is run in it, for example `Tests.xctest`; what they write to the console
            counts as its standard output. Empty for an app that is started itself.
    """

    package: str
    activity: str = ""
    result: str = ""
    # Left out where absent: digests of benchmarks from before it existed stay valid.
    tests: str = Field(default="", exclude_if=lambda tests: not tests)
