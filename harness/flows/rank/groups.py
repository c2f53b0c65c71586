"""Groups of benchmarks that are meant to do the same work: each becomes a ranking."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct

from harness.core.benchmark import FRAMEWORK_AXIS, Benchmark
from harness.core.errors import UsageError
from harness.flows.measure.compared import executes_examples

_SAME_WORK = frozenset({FRAMEWORK_AXIS, "backend", "recipe", "delegate", "runner", "suffix", "precision"})
"""Axes that leave the work the same, where nothing is exported that says what it is."""


class RankingGroup(Struct, frozen=True):
    """Benchmarks of one ranking.

    Attributes:
        title: The model, and what tells it from other rankings of the command.
        benchmarks: Its benchmarks, in the order of the specifications.
    """

    title: str
    benchmarks: tuple[Benchmark, ...]


def group_benchmarks(benchmarks: Sequence[Benchmark]) -> tuple[RankingGroup, ...]:
    """Group benchmarks by model, inputs, threads and CPUs, in the order of the specifications.

    Seeds are no part of it: what was exported from other weights is to be shown as other work, beside the rest.

    Raises:
        UsageError: No group has two benchmarks, or two that can prove to do the same work.
    """
    groups: dict[Hashable, list[Benchmark]] = {}
    for benchmark in benchmarks:
        groups.setdefault(_describe_work(benchmark), []).append(benchmark)
    if all(len(members) < 2 for members in groups.values()):
        differing = f"; they differ in {_list_differences(benchmarks)}" if len(benchmarks) > 1 else ""
        raise UsageError(
            f"nothing to rank: no two benchmarks do the same work in the same way{differing}",
            hint="name several frameworks or recipes, for example by `include` of a matrix: `harness rank --help`",
        )
    if all(sum(map(executes_examples, members)) < 2 for members in groups.values()):
        raise UsageError(
            "nothing to rank: tests with `commands` execute no examples, so nothing shows that they do the same work",
            hint="leave out `commands`: the framework knows its runner; two programs of your own are compared by "
            "`harness compare --control-program OLD --program NEW`",
        )
    names = [members[0].model.name for members in groups.values()]
    return tuple(
        RankingGroup(_name(members[0], is_unique=names.count(members[0].model.name) == 1), tuple(members))
        for members in groups.values()
    )


def _describe_work(benchmark: Benchmark) -> Hashable:
    return tuple(sorted(_name_work(benchmark).items()))


def _name_work(benchmark: Benchmark) -> dict[str, Hashable]:
    """Return by name what benchmarks have in common that are ranked.

    Where nothing is exported, an axis may change what a program does, as a size does.
    """
    exports = [file.export for file in benchmark.files if file.export is not None]
    axes = {} if exports else {name: value for name, value in benchmark.axes.items() if name not in _SAME_WORK}
    return {
        "model": benchmark.model.name,
        "inputs": tuple((item.name, item.shape, item.dtype) for item in benchmark.inputs),
        "definition": tuple((export.definition, tuple(sorted(export.options.items()))) for export in exports),
        "axis `method`": benchmark.axes.get("method"),
        **{f"axis `{name}`, which may change the work": value for name, value in axes.items() if name != "method"},
        "threads": benchmark.threads,
        "CPUs": benchmark.cpus,
        "platform": benchmark.platform,
    }


def _list_differences(benchmarks: Sequence[Benchmark]) -> str:
    works = [_name_work(benchmark) for benchmark in benchmarks]
    names = dict.fromkeys(name for work in works for name in work)
    differing = [name for name in names if len({work.get(name) for work in works}) > 1]
    said = {f"axis `{name.lower()}`" for name in differing}  # the number of threads may be an axis
    return ", ".join(name for name in differing if name.partition(",")[0] not in said)


def _name(benchmark: Benchmark, *, is_unique: bool) -> str:
    if is_unique:
        return benchmark.model.name
    threads = f", {benchmark.threads} thread{'' if benchmark.threads == 1 else 's'}" if benchmark.threads else ""
    shapes = ", ".join("x".join(map(str, item.shape)) for item in benchmark.inputs)
    return f"{benchmark.model.name}{threads}{', ' if shapes else ''}{shapes}"
