"""Results, comparisons and alarms of a made-up laboratory (`big_world`), for tests, benchmarks and pictures of pages.

python -m tests.store.big_store lab.db --commits 400 --models 4 --backends 3 --devices 4 --hostile
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import Path

from harness import __version__
from harness.core.alarm import Alarm, AlarmEvent, AlarmOrigin, AlarmReport, AlarmStage, Verification
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.change import Change, ChangeKind
from harness.core.comparison import Comparison, Pair, Parameters
from harness.core.culprit import Candidate, Culprit, SearchEnding, SearchResult
from harness.core.device import DeviceState
from harness.core.effect import Effect
from harness.core.evaluation import DataInfo, Evaluation, StageEvaluation, Statistic
from harness.core.examples import DataRequest, Stage
from harness.core.launch_interval import interval_of
from harness.core.metric import Direction, Metric, MetricInfo
from harness.core.note import Note
from harness.core.origin import Origin
from harness.core.reproduction import Reproduction
from harness.core.result import BenchmarkInfo, FileInfo, Launch, Outcome, Result
from harness.core.verdict import Verdict
from harness.store.database.alarms import store_alarm
from harness.store.database.engine import Database, open_database
from harness.store.database.writing import NewResult, store_results
from tests.store.big_world import Laboratory, Place, Step

CONTROL_EVERY = 28
"""The control of a watcher stays for so many commits."""

_BATCH = 1000
_EXACTNESS = 0.003
"""Standard deviation of a comparison: ln(treatment / control)."""

_REASONS = {
    Outcome.CRASHED: "was ended by SIGSEGV without output",
    Outcome.TIMEOUT: "did not end within 300 s",
    Outcome.DEVICE_LOST: "the device went away: usb disconnected",
    Outcome.SKIPPED: "the device stayed too hot for 10 min (46 °C)",
    Outcome.UNSUPPORTED: "backend needs another platform",
}


def iterate_results(laboratory: Laboratory) -> Iterator[Result]:
    """Yield the result of every cell at every commit, oldest commit first, and then figures from elsewhere."""
    for number in range(laboratory.commits):
        for place in laboratory.places:
            yield make_result(laboratory, place, number)
    yield from _make_foreign(laboratory)


def make_result(laboratory: Laboratory, place: Place, number: int) -> Result:
    """Return the result of a cell at a commit: about 2 % fail, are skipped or not trusted."""
    chance = random.Random(f"{laboratory.seed}:{place.number}:{number}")
    commit = laboratory.commit(number)
    started = float((commit.time or 0) + 600 + 20 * place.number)
    outcome = _toss_outcome(place, chance)
    result = Result(
        harness_version=__version__,
        uid=f"{chance.getrandbits(128):032x}",
        run=f"run-{number:05d}",
        started=started,
        finished=started + 15,
        outcome=outcome,
        reason=_REASONS.get(outcome),
        benchmark=_describe_benchmark(laboratory.samples, laboratory.launches, place),
        build=laboratory.build(number),
        device=place.device,
        launches=tuple(_launch(index, started) for index in range(laboratory.launches))
        if outcome is not Outcome.UNSUPPORTED
        else (),
        reproduction=Reproduction(
            command=("harness", "-b", f"specifications/models/{_file_name(place.model)}.json"),
            benchmark=f"{place.model}/{place.identifier}",
            benchmark_digest=place.digest,
            device=place.device.identity,
        ),
    )
    return _measure(laboratory, place, number, result, chance) if outcome is Outcome.OK else result


def make_alarms(laboratory: Laboratory) -> Iterator[AlarmReport]:
    """Yield an alarm of each cell that a planted step changes; those of two in three steps have their culprit."""
    for order, step in enumerate(laboratory.all_steps):
        places = (place for place in laboratory.places if step.changes(place) and not place.is_impossible)
        if 3 < step.commit < laboratory.commits - 1:
            yield from (_make_alarm(laboratory, place, step, order) for place in places)


def _toss_outcome(place: Place, chance: random.Random) -> Outcome:
    if place.is_impossible:
        return Outcome.UNSUPPORTED
    failures = (Outcome.CRASHED, Outcome.TIMEOUT, Outcome.DEVICE_LOST, Outcome.SKIPPED)
    return chance.choice(failures) if chance.random() < 0.015 else Outcome.OK


def _measure(laboratory: Laboratory, place: Place, number: int, result: Result, chance: random.Random) -> Result:
    """Return a good result with metrics, and a comparison with the control of that time."""
    level = place.level_ms * math.exp(laboratory.level_of(place, number) + chance.gauss(0, 0.008))
    latencies = [
        round(level * math.exp(chance.gauss(0, 0.01)), 4) for _ in range(laboratory.launches * laboratory.samples)
    ]
    few = laboratory.launches
    metrics = (
        make_metric("NET latency", "ms", latencies, few),
        make_metric(
            "NET load_time", "ms", [round(4 + place.level_ms / 5 + chance.random(), 3) for _ in range(few)], few
        ),
        make_metric(
            "RUN peak_memory", "bytes", [float((40 << 20) + chance.randrange(1 << 20)) for _ in range(few)], few
        ),
        make_metric(
            "NET energy", "mJ", [round(level * 1.7 * math.exp(chance.gauss(0, 0.05)), 3) for _ in range(few)], few
        ),
        make_metric(
            "NET throughput", "1/s", [round(1000 / latencies[index], 4) for index in range(few)], few, Direction.HIGHER
        ),
    )
    notes = (
        (Note(code="noisy", message="the launches disagree by 40 %", hint="measure again", trust=False),)
        if chance.random() < 0.01
        else ()
    )
    control = number - number % CONTROL_EVERY
    return result.model_copy(
        update={
            "metrics": metrics,
            "notes": notes,
            "files": _describe_files(place),
            "comparison": None if control == number else _compare(laboratory, place, number, control, chance),
            "evaluation": _evaluate(place) if number == laboratory.commits - 1 else None,
        }
    )


def make_metric(
    name: str, unit: str, samples: list[float], launches: int, direction: Direction = Direction.LOWER
) -> Metric:
    """Return a metric with the statistics that views and pages show."""
    kind, _, what = name.partition(" ")
    ordered, count = sorted(samples), len(samples)
    mean = math.fsum(samples) / count
    deviation = math.sqrt(math.fsum((sample - mean) ** 2 for sample in samples) / count)
    median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    metric = Metric.model_construct(
        name=name,
        type=kind,
        metric=what,
        unit=unit,
        direction=direction,
        samples=tuple(samples),
        launches=tuple(index * launches // count for index in range(count)),
        summary={
            "n": float(count),
            "mean": mean,
            "p0": ordered[0],
            "p10": ordered[count // 10],
            "p50": median,
            "p90": ordered[-1 - count // 10],
            "p100": ordered[-1],
            "stdev": deviation,
            "cv": deviation / mean,
            "MAD": sorted(abs(sample - median) for sample in samples)[count // 2],
        },
    )
    return metric.model_copy(update={"interval": interval_of(metric)})


def _compare(laboratory: Laboratory, place: Place, number: int, control: int, chance: random.Random) -> Comparison:
    ratio = laboratory.level_of(place, number) - laboratory.level_of(place, control) + chance.gauss(0, _EXACTNESS / 3)
    low, high = ratio - _EXACTNESS, ratio + _EXACTNESS
    verdict = Verdict.REGRESSION if low > 0 else Verdict.IMPROVEMENT if high < 0 else Verdict.NO_CHANGE
    base = place.level_ms
    figures = tuple(base * share for share in (0.97, 0.99, 1.0, 1.01, 1.05))
    pairs = tuple(
        Pair.model_construct(
            index=index,
            control_first=chance.random() < 0.5,
            control=figures,
            treatment=tuple(round(figure * math.exp(ratio), 4) for figure in figures),
            control_launch=index,
            treatment_launch=index,
            seconds=0.5,
        )
        for index in range(laboratory.launches)
    )
    return Comparison(
        control=laboratory.build(control),
        metric="NET latency",
        unit="ms",
        parameters=Parameters(seed=number),
        pairs=pairs,
        verdict=verdict,
        reason=f"{len(pairs)} pairs",
        difference=math.expm1(ratio),
        low=math.expm1(low),
        high=math.expm1(high),
        seconds=0.5 * len(pairs),
    )


@lru_cache(maxsize=4096)
def _describe_benchmark(samples: int, launches: int, place: Place) -> BenchmarkInfo:
    return BenchmarkInfo(
        model=place.model,
        identifier=place.identifier,
        id=0,
        metric="delay",
        framework="executorch",
        axes={"backend": place.backend, "threads": 1},
        inputs={"data": (1, 3, 224, 224)},
        threads=1,
        warmup=2,
        iterations=samples,
        launches=launches,
        specification=f"specifications/models/{_file_name(place.model)}.json",
        digest=place.digest,
    )


@lru_cache(maxsize=4096)
def _describe_files(place: Place) -> dict[str, FileInfo]:
    size, md5 = int(place.level_ms * (1 << 18)), place.digest[:32]
    export = ExportReport(
        export=Export(definition=place.model, recipe=place.backend),
        versions={"torch": "2.9.0"},
        md5=md5,
        size_bytes=size,
    )
    return {
        "files.model": FileInfo(filename="model.pte", md5=md5, size_bytes=size, source="export", export=export),
    }


@lru_cache(maxsize=4096)
def _evaluate(place: Place) -> Evaluation:
    share = 0.97 if place.backend.endswith("q8") else 1.0
    statistics = (
        Statistic(name="sqnr", unit="dB", direction=Direction.HIGHER, value=24.0 if share < 1 else 96.0, examples=200),
        Statistic(name="top1_agreement", direction=Direction.HIGHER, value=share, low=share - 0.02, examples=200),
    )
    data = DataInfo(
        request=DataRequest(provider="random"), description="random", examples=200, is_labelled=False, digest="d" * 64
    )
    return Evaluation(data=data, stages=(StageEvaluation(stage=Stage.DEVICE, examples=200, statistics=statistics),))


def _make_foreign(laboratory: Laboratory) -> Iterator[Result]:
    """Yield figures of another tool for the first model, in cells of their own."""
    place = laboratory.places[0]
    for number in range(min(3, laboratory.commits)):
        result = make_result(laboratory, place, number)
        samples = [38.4 - number, 37.9, 38.1]
        metric = make_metric("LLM tokens_per_second", "1/s", samples, 1, Direction.HIGHER)
        benchmark = result.benchmark.model_copy(
            update={
                "identifier": "llama-bench",
                "framework": "llama.cpp",
                "digest": "f" * 64,
                "axes": {"backend": "cpu"},
            }
        )
        origin = Origin(format="llama-bench", file="bench.json", digest="e" * 64, place=f"line {number + 1}", count=3)
        yield result.model_copy(
            update={
                "uid": f"{number:032x}",
                "benchmark": benchmark,
                "outcome": Outcome.OK,
                "reason": None,
                "metrics": (metric.model_copy(update={"interval": None}),),
                "comparison": None,
                "evaluation": None,
                "launches": (),
                "files": {},
                "notes": (),
                "reproduction": None,
                "origin": origin,
            }
        )


def _launch(index: int, started: float) -> Launch:
    before = DeviceState.model_construct(
        time=started + 5 * index, load=0.25, frequency_mhz=(2100.0,) * 4, temperature_c=41.5
    )
    return Launch.model_construct(
        index=index,
        outcome=Outcome.OK,
        commands=(("taskset", "-c", "1", "runner", "--model", "model.pte"),),
        cpus=(1,),
        started=before.time,
        wall_s=4.5,
        cpu_s=4.4,
        peak_memory_bytes=40 << 20,
        before=before,
        after=before.model_copy(update={"time": before.time + 4.5, "temperature_c": 43.0}),
    )


def _file_name(model: str) -> str:
    return "".join(character for character in model if character.isalnum() or character == "_")[:40]


def _make_alarm(laboratory: Laboratory, place: Place, step: Step, order: int) -> AlarmReport:
    is_found = order % 3 != 2
    before, after = laboratory.commit(step.commit - 3), laboratory.commit(step.commit)
    candidates = [laboratory.commit(number) for number in range(step.commit - 2, step.commit + 1)]
    effect = Effect(
        log_ratio=step.log_ratio, low_log_ratio=step.log_ratio - 0.004, high_log_ratio=step.log_ratio + 0.004
    )
    verdict = Verdict.REGRESSION if step.log_ratio > 0 else Verdict.IMPROVEMENT
    change = Change(
        identity=sha_of(f"{laboratory.seed}:{order}:{place.number}"),
        benchmark=place.digest,
        title=f"{place.model}/{place.identifier}",
        device=place.device.identity,
        metric=MetricInfo(name="NET latency", unit="ms"),
        kind=ChangeKind.STEP if step.log_ratio > 0 else ChangeKind.IMPROVEMENT,
        before=before.id,
        before_order=step.commit - 3,
        after=after.id,
        after_order=step.commit,
        last_without=before.id,
        first_with=after.id,
        effect=effect,
        score=8.0,
        detected_with=after.id,
    )
    culprit = Culprit(
        commits=(after.id,), before=candidates[-2].id, probability=0.98, effect=effect, evidence=900.0, confirmed=True
    )
    opened = float((after.time or 0) + 7200)
    stage = (AlarmStage.CLOSED if order % 4 == 3 else AlarmStage.REPORTED) if is_found else AlarmStage.CONFIRMED
    alarm = Alarm(
        change=change,
        stage=stage,
        reason="taken back" if stage is AlarmStage.CLOSED else "",
        opened=opened,
        updated=opened + 3600,
        verification=Verification(confirmed=True, verdict=verdict, reason="24 pairs", effect=effect, pairs=24),
        search=SearchResult(
            ending=SearchEnding.FOUND,
            culprits=(culprit,),
            smallest_log_ratio=0.005,
            pairs=60,
            reason="one commit did it",
        )
        if is_found
        else None,
        candidates=tuple(Candidate(commit=commit, probability=1 / 3) for commit in candidates),
    )
    event = (
        AlarmEvent.CLOSED if stage is AlarmStage.CLOSED else AlarmEvent.BISECTED if is_found else AlarmEvent.CONFIRMED
    )
    return AlarmReport(
        event=event,
        alarm=alarm,
        device_name=place.device.name,
        before=before,
        command=f"harness compare -b specifications/models/{_file_name(place.model)}.json --control {before.id}",
        discovery=AlarmOrigin(time=opened, harness=__version__, host="lab-3"),
    )


def sha_of(text: str) -> str:
    """Return sixteen digits that a text determines."""
    return sha256(text.encode()).hexdigest()[:16]


def fill_store(database: Database, laboratory: Laboratory) -> int:
    """Store everything of a laboratory; return the number of results. Every other run is one of the category nightly.

    Args:
        database: Where to store it.
        laboratory: What to store.
    """
    results, count = iterate_results(laboratory), 0
    while batch := list(islice(results, _BATCH)):
        new = [NewResult(result, category="nightly" if is_nightly(result) else "") for result in batch]
        store_results(database, new, now=batch[-1].finished + 60)
        count += len(batch)
    for report in make_alarms(laboratory):
        store_alarm(database, report, now=report.alarm.updated + 60)
    database.optimize()
    return count


def is_nightly(result: Result) -> bool:
    """Return whether a result belongs to a nightly run."""
    return result.run.endswith(("0", "2", "4", "6", "8"))


def main() -> None:
    """Make a database from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--hostile", action="store_true")
    for name in ("commits", "models", "backends", "devices", "samples", "launches", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Laboratory(), name))
    given = vars(parser.parse_args())
    path, began = given.pop("database"), time.monotonic()
    with open_database(path) as database:
        count = fill_store(database, Laboratory(**given))
    print(f"{count} results in {time.monotonic() - began:.1f} s: {path}")


if __name__ == "__main__":
    main()
