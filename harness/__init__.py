"""edge-harness: how fast is this model on this device, and can the number be believed.

    import harness

    results = harness.run("mv2", only=["*xnnpack*"])
    print(harness.frame(results)[["identifier", "metric", "median", "unit"]])

`run`, `compare`, `evaluate`, `profile`, `load`, `query`, `frame` and `samples` are what scripts need
(docs/scripting.md). Importing this module imports nothing else: each name is loaded when it is first used.
"""

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "EnvironmentProblem",
    "EvaluatedModel",
    "ExitCode",
    "HarnessError",
    "Metric",
    "Outcome",
    "Result",
    "Results",
    "SpecificationError",
    "UsageError",
    "Verdict",
    "__version__",
    "compare",
    "evaluate",
    "frame",
    "load",
    "profile",
    "query",
    "run",
    "samples",
]

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from harness.api import (
        Comparison,
        EnvironmentProblem,
        EvaluatedModel,
        ExitCode,
        HarnessError,
        Metric,
        Outcome,
        Result,
        Results,
        SpecificationError,
        UsageError,
        Verdict,
        compare,
        evaluate,
        frame,
        load,
        profile,
        query,
        run,
        samples,
    )
else:

    def __getattr__(name):  # noqa: ANN001, ANN202 - type checkers read the names above
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - see above

        value = globals()[name] = getattr(import_module("harness.api"), name)
        return value

    def __dir__():  # noqa: ANN202
        return sorted({*globals(), *__all__})
