"""What `import harness` offers to scripts and notebooks: measure, compare, read stored results, and make tables.

calls       running a flow for a caller: collected results, messages, interruption
keywords    options of the harness as keyword arguments
names       the keywords with their types, generated from the options
results     results of a run with its exit code and messages

Nothing is written to standard output unless a keyword asks for it, no handlers of signals are installed, and every
function may be called from any thread. Wrong arguments raise `UsageError`, a machine on which nothing can be measured
raises `EnvironmentProblem`; the failure of a benchmark is a result with an outcome and a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from harness.api import keywords
from harness.api.calls import Call, call
from harness.api.evaluation import EvaluatedModel, evaluate_model, evaluate_specifications
from harness.api.names import CompareKeywords, RunKeywords
from harness.api.results import Results
from harness.api.specifications import Specifications
from harness.core.comparison import Comparison
from harness.core.errors import EnvironmentProblem, ExitCode, HarnessError, SpecificationError, UsageError, most_severe
from harness.core.metric import Metric
from harness.core.result import Outcome, Result
from harness.core.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    import torch

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
    "compare",
    "evaluate",
    "frame",
    "load",
    "profile",
    "query",
    "run",
    "samples",
]


def run(
    spec: Specifications,
    *,
    progress: bool = False,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[RunKeywords],
) -> Results:
    """Measure the benchmarks of one or more specifications, as `harness run` does.

    Results are stored in the folder of results (`local_reporter`), too.

    Args:
        spec: Path of a specification or of a list of them, name of a built-in one (`mv2`), a specification as a
            dictionary, or several of these. Relative locations in a dictionary are relative to the current folder.
        progress: Show progress on standard error. Messages are in the results and in the log `harness` in any case.
        options: Further options by name, for those of plug-ins that type checkers do not know.
        **settings: Options of `harness run` by the names of their flags: `only=["*q8*"]`, `timeout=60`. Those that are
            not given are the saved defaults, variables and `default_args`, as on the command line.

    Returns:
        A result for each benchmark and device, including those that failed and those that were skipped.

    Raises:
        UsageError: An option, a value or a specification is wrong.
        EnvironmentProblem: Nothing could be measured: no device, no plug-in, no place for results.
    """
    request = keywords.read_run(spec, {**(options or {}), **settings})
    from harness.flows.measure import run as flow  # noqa: PLC0415 - numpy and more, after the arguments
    from harness.flows.measure.submodules import reject_unused_submodules  # noqa: PLC0415
    from harness.flows.measure.workload import load_workload  # noqa: PLC0415

    def work(state: Call) -> ExitCode:
        workload = load_workload(request.settings, request.load_benchmarks())
        plan = workload.plan(state.display)
        if request.compare is None:
            reject_unused_submodules(request.settings)
            return flow.run(plan, request.settings, state.display, listeners=[state.collector])
        from harness.flows.compare import requests, source_fetcher  # noqa: PLC0415 - as above

        fetcher = source_fetcher.SourceFetcher(state.display)
        treatments = requests.split_treatments(request.compare, request.settings)
        runners = (requests.resolve_side(each, request.settings, fetcher, state.display) for each in treatments)
        return most_severe(
            [flow.run(plan, request.settings, state.display, runner, listeners=[state.collector]) for runner in runners]
        )

    return call(work, progress=progress)


def profile(
    spec: Specifications,
    *,
    progress: bool = False,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[RunKeywords],
) -> Results:
    """Time each operator of the benchmarks of one or more specifications, as `harness profile` does.

    Args:
        spec: As in `run`.
        progress: As in `run`.
        options: As in `run`.
        **settings: As in `run`.

    Returns:
        Two results for each benchmark and device: its latency without tracing, and one with each operator as a metric
        (`metric.is_of_operator`). `result.operators` of the second says which module and line each of them is.

    Raises:
        UsageError: As in `run`.
        EnvironmentProblem: As in `run`.
    """
    request = keywords.read_run(spec, {**(options or {}), **settings})
    from harness.flows.measure import profile as flow  # noqa: PLC0415 - numpy and more, after the arguments
    from harness.flows.measure.workload import load_workload  # noqa: PLC0415

    def work(state: Call) -> ExitCode:
        if request.compare is not None:
            raise UsageError("a profile is of the installed runner", hint="`run` measures one commit")
        workload = load_workload(request.settings, request.load_benchmarks())
        code, _ = flow.profile(workload, request.settings, state.display, listeners=(state.collector,))
        return code

    return call(work, progress=progress)


def compare(
    spec: Specifications,
    *,
    progress: bool = False,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[CompareKeywords],
) -> Results:
    """Compare a treatment with a control in pairs of launches, as `harness compare` does.

    Args:
        spec: As in `run`.
        progress: As in `run`.
        options: As in `run`.
        **settings: As in `run`, and what to compare and how to decide: `control="1.4.0"`, `treatment="1.5.0"`,
            `source="releases:executorch"`, `margin=0.02` (relative: 2 %).

    Returns:
        A result for each benchmark and device, those of the treatment; `result.comparison` has the verdict, the
        relative difference and its interval. The exit code is 1 after a regression, and 5 where one is undecided.

    Raises:
        UsageError: As in `run`; or there is nothing to compare.
        EnvironmentProblem: As in `run`; or the source of the commits cannot be reached.
    """
    request = keywords.read_compare(spec, {**(options or {}), **settings})
    from harness.flows.compare import batch, requests  # noqa: PLC0415 - numpy and more, after the arguments
    from harness.flows.measure.workload import load_workload  # noqa: PLC0415

    def work(state: Call) -> ExitCode:
        workload = load_workload(request.settings, request.load_benchmarks())
        treatments = requests.split_treatments(request.required_compare, request.settings)
        return batch.compare_batch(workload, treatments, request.settings, state.display, [state.collector])

    return call(work, progress=progress)


@overload
def evaluate(
    model: Specifications,
    *,
    data: str | None = None,
    examples: int | None = None,
    layers: bool = False,
    progress: bool = False,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[RunKeywords],
) -> Results: ...
@overload
def evaluate(
    model: torch.nn.Module | torch.export.ExportedProgram,
    inputs: torch.Tensor | tuple[torch.Tensor, ...] | list[torch.Tensor] | list[tuple[torch.Tensor, ...]],
    *,
    recipe: str = "xnnpack_fp32",
    labels: Sequence[int] | None = None,
    progress: bool = False,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[RunKeywords],
) -> EvaluatedModel: ...
def evaluate(
    model: Any,
    inputs: Any = None,
    *,
    recipe: str = "xnnpack_fp32",
    labels: Sequence[int] | None = None,
    data: str | None = None,
    examples: int | None = None,
    layers: bool = False,
    progress: bool = False,
    options: Mapping[str, object] | None = None,
    **settings: Unpack[RunKeywords],
) -> Results | EvaluatedModel:
    """Compare the outputs of a lowered model on a device with those of the model itself.

    Args:
        model: A `torch.nn.Module` or a program of `torch.export`; or specifications as in `run`, whose benchmarks are
            evaluated as by `harness evaluate`.
        inputs: Inputs of a model: its arguments, a tensor or a tuple of tensors; or a list of these, one for each
            example. All have the same shapes.
        recipe: Export recipe of a model.
        labels: Right class of each example of a model, for its accuracy.
        data: Provider of the examples of specifications; None takes what they name, else `random`.
        examples: Number of examples of specifications.
        layers: Whether the gap of each layer of specifications is computed too.
        progress: As in `run`.
        options: As in `run`.
        **settings: As in `run`: `platform="android"`, `devices=["SERIAL"]`, `threads`, ...

    Returns:
        For a model its outputs on the device as tensors, with its latency and its result; for specifications the
        results of all benchmarks, with `result.evaluation`.

    Raises:
        UsageError: An argument is wrong.
        EnvironmentProblem: Nothing could be measured.
        BenchmarkFailed: The model could not be exported, executed or compared.
    """
    given = {**(options or {}), **settings}
    if inputs is not None:
        return evaluate_model(model, inputs, recipe=recipe, labels=labels, progress=progress, settings=given)
    return evaluate_specifications(
        model, data=data, examples=examples, layers=layers, progress=progress, settings=given
    )


def load(path: str | PathLike[str] = "LAST") -> Results:
    """Read stored results.

    Args:
        path: As of `harness report`: a result file, its folder, or any folder above some, also relative to the folder
            of results; `LAST` for the results of the last run.

    Returns:
        The results, oldest first, with the exit code of a command that had measured them. Files that cannot be read are
        in the messages, and make it 3.

    Raises:
        UsageError: There is no result.
        EnvironmentProblem: No file that is there can be read.
    """
    from harness.api.stored import load_results  # noqa: PLC0415

    return load_results(Path(path).expanduser())


def query(
    database: str | PathLike[str] | None = None,
    *,
    model: str | Sequence[str] = (),
    backend: str | Sequence[str] = (),
    device: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    metric: str | Sequence[str] = (),
    since: str | datetime | None = None,
    commit: str | None = None,
    failed: bool = False,
    limit: int | None = None,
) -> Results:
    """Read results from a database, as `harness query` selects them; each condition that is given must hold.

    Args:
        database: Its file, or `postgresql://HOST/NAME`; None for HARNESS_DATABASE, that of the saved
            defaults, or `results.db` in the folder of results.
        model: Names of models.
        backend: Names of backends.
        device: Identities or names of devices.
        only: Patterns of benchmarks, as of `--only`.
        metric: Names of metrics, of which a result must have one. The results have their other metrics, too.
        since: Earliest start: a time, a date as text (UTC), or an age such as `2d`.
        commit: Commit of the build, which may be abbreviated.
        failed: Keep only results that should have numbers and have none.
        limit: Most results: the newest.

    Returns:
        The results, oldest first. `frame` and `samples` make tables of them.

    Raises:
        UsageError: A value means nothing.
        EnvironmentProblem: There is no such database, or it cannot be read.
    """
    from harness.api.stored import query_results  # noqa: PLC0415 - the database

    return query_results(
        None if database is None else str(database),
        models=model,
        backends=backend,
        devices=device,
        only=only,
        metrics=metric,
        since=since,
        commit=commit,
        failed=failed,
        limit=limit,
    )


def frame(results: Iterable[Result] | Result) -> pd.DataFrame:
    """Return a table of results: one row for each result and metric.

    A failed result has a row without a metric. Statistics are in the unit of the column `unit`, differences and the
    ends of their intervals are relative (0.02 is 2 %), times are UTC.

    Args:
        results: Results of `run`, `compare`, `load` or `query`, any others, or one.
    """
    from harness.store.frames import make_frame  # noqa: PLC0415 - pandas

    return make_frame(_iterate(results))


def samples(results: Iterable[Result] | Result) -> pd.DataFrame:
    """Return a table of samples: one row for each sample of each metric, in measured order, in the unit of its row.

    Args:
        results: As in `frame`.
    """
    from harness.store.frames import make_samples  # noqa: PLC0415 - pandas

    return make_samples(_iterate(results))


def _iterate(results: Iterable[Result] | Result) -> Iterable[Result]:
    if isinstance(results, str | PathLike):
        raise UsageError(f"{results!r} is a place, and no results", hint=f"harness.load({results!r}) reads those there")
    return [results] if isinstance(results, Result) else results
