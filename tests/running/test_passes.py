"""Passes for kinds of figures: the sequence of launches with their command lines, what counts of each, and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.analysis.results import build_result
from harness.core.benchmark import Benchmark, Model, OutputFile, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.measurement import Job, Measurement
from harness.core.protocols import Session
from harness.core.result import Outcome, Result
from harness.core.scenario import SustainedRequest
from harness.running.measure import measure
from harness.running.passes import note_unused_long_run
from harness.testing.progress import RecordedProgress

PROGRAM = """
observe() {
  printf 'PyTorchObserver {"type": "%s", "metric": "%s", "unit": "%s", "value": "%s"}\\n' "$@"
}
latency=100; memory=5000; [ "$1" = 1 ] && { latency=900; memory=4000; }
while [ $# -gt 0 ]; do
  case "$1" in
    --operators) latency=200; [ -n "$NO_TRACER" ] || observe conv latency us 60;;
    --outputs) echo 1 2 3 > "$2"; shift;;
    --fail) exit 3;;
    --sustained) latency=300; [ -n "$NO_LONG_RUN" ] || observe NET start_time ns 0
      observe LLM decode_rate 1/s 7; observe LLM generation_time ns 9; observe SUSTAINED decode_rate 1/s 8;;
  esac; shift
done
observe NET latency us $latency
observe RUN peak_memory bytes $memory
"""


class Composer(Generic):
    """A framework that composes the command of a shell script, whose flags do something else each."""

    name = "composer"

    def __init__(self, script: Path) -> None:
        super().__init__({})
        script.write_text(PROGRAM)
        self._script = script

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        words = [str(benchmark.iterations)]
        words += ["--operators"] if benchmark.operators else []
        words += ["--phases"] if benchmark.phases else []
        words += ["--cold"] if benchmark.cold else []
        words += ["--sustained", f"{benchmark.long_run_s:g}"] if benchmark.long_run_s is not None else []
        words += ["--outputs", files[benchmark.output_files[0].key]] if benchmark.output_files else []
        words += ["--fail"] if benchmark.operators and "FAIL" in benchmark.env else []
        return Command(("sh", str(self._script), *words))


class MeteredSession:
    """A session whose device reports energy where it is asked for, and which keeps what was asked for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.device = session.device
        self.stage = session.stage
        self.pull = session.pull
        self.state = session.state
        self.energy: list[bool] = []

    def run(self, command: Command) -> Completed:
        from msgspec.structs import replace  # noqa: PLC0415

        self.energy.append(command.energy)
        completed = self._session.run(command)
        return replace(completed, energy_mj={"battery": 7.0}) if command.energy else completed


class HeatedSession:
    """A session whose device has throttled after a long run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.device = session.device
        self.stage = session.stage
        self.pull = session.pull
        self._is_hot = False

    def run(self, command: Command) -> Completed:
        self._is_hot = "--sustained" in command.argv
        return self._session.run(command)

    def state(self) -> DeviceState:
        state = self._session.state()
        return state.model_copy(update={"thermal_status": 3}) if self._is_hot else state


SCORES = OutputFile(key="output_files.scores", filename="scores.txt", location="{TGTDIR}scores.txt")


def run(
    session: Session, tmp_path: Path, *kinds: str, unmetered: str | None = None, **fields: object
) -> tuple[Measurement, Result]:
    given = {
        "id": 0,
        "model": Model(name="m", format="f"),
        "identifier": "t",
        "metric": kinds[0],
        "kinds": kinds,
        "framework": "composer",
        "iterations": 50,
        "launches": 2,
        "origin": SpecificationPlace(file=Path("spec.json")),
        "digest": "0",
    }
    job = Job(Benchmark.model_validate({**given, **fields}), Build(source="none", commit="none"), unmetered=unmetered)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    measured = measure(
        job,
        session,
        Composer(tmp_path / "program.sh"),
        scratch=scratch,
        clock=lambda: 0.0,
        progress=RecordedProgress(),
    )
    return measured, build_result(job, session.device, measured, run_type="benchmark", meta={})


def trace(measured: Measurement) -> list[tuple[str, ...]]:
    """Return the arguments of each launch."""
    lines = [launch.commands[0] for launch in measured.launches]
    begin = next(place for place, word in enumerate(lines[0]) if word.endswith("program.sh")) + 1
    return [line[begin:] for line in lines]


def samples(result: Result, name: str) -> Sequence[float]:
    metric = result.metric(name)
    return () if metric is None else metric.samples


def test_each_kind_that_disturbs_another_has_a_launch_of_its_own_after_the_timed_ones(
    session: Session, tmp_path: Path
) -> None:
    metered = MeteredSession(session)
    kinds = ("delay", "power", "operators", "error", "memory", "load_time", "size")
    measured, result = run(metered, tmp_path, *kinds, output_files=(SCORES,))
    assert result.outcome is Outcome.OK, result.reason
    timed = ("50",)
    shown = [tuple(word for word in words if "/" not in word) for words in trace(measured)]
    alone = [("1", "--phases"), ("1", "--cold"), ("1", "--outputs"), ("50", "--operators"), ("50",)]
    assert shown == [timed, timed, *alone]
    assert metered.energy == [False] * 6 + [True]


def test_energy_that_nothing_can_meter_is_skipped_and_the_other_kinds_are_measured(
    session: Session, tmp_path: Path
) -> None:
    metered = MeteredSession(session)
    measured, result = run(metered, tmp_path, "delay", "memory", "power", unmetered="no RAPL here")
    assert result.outcome is Outcome.OK, result.reason
    assert len(measured.launches) == 3
    assert not any(metered.energy)
    assert samples(result, "RUN peak_memory") == (4000.0,)
    (note,) = (note for note in result.notes if note.code == "kind_skipped")
    assert note.message == "`power` was not measured: no RAPL here"
    assert note.trust, "what was measured can be believed"


def test_a_program_with_commands_of_its_own_is_not_launched_for_a_cold_load(session: Session, tmp_path: Path) -> None:
    measured, _ = run(session, tmp_path, "delay", "load_time", commands=("true",))
    assert len(measured.launches) == 2


def test_samples_of_a_pass_never_mix_with_the_latency(session: Session, tmp_path: Path) -> None:
    _, result = run(session, tmp_path, "delay", "operators", "memory")
    assert samples(result, "NET latency") == (100.0, 100.0)
    assert samples(result, "conv latency") == (60.0,)
    assert samples(result, "RUN peak_memory") == (4000.0,)  # of the pass alone
    assert result.benchmark.operators
    assert result.benchmark.kinds == ("delay", "operators", "memory")


def test_a_single_metric_has_no_pass(session: Session, tmp_path: Path) -> None:
    measured, result = run(session, tmp_path, "memory", kinds=())
    assert trace(measured) == [("50",), ("50",)]
    assert samples(result, "RUN peak_memory") == (5000.0, 5000.0)


def test_operators_of_every_launch_work_as_before(session: Session, tmp_path: Path) -> None:
    measured, result = run(session, tmp_path, "delay", kinds=(), operators=True)
    assert trace(measured) == [("50", "--operators"), ("50", "--operators")]
    assert samples(result, "NET latency") == (200.0, 200.0)


@pytest.mark.parametrize(
    ("kind", "env", "words"),
    [
        ("operators", {"NO_TRACER": "1"}, "its launch reported no such figure"),
        ("operators", {"FAIL": "1"}, "the program ended with exit status 3"),
        ("power", {}, "its launch reported no such figure"),
    ],
)
def test_a_pass_that_fails_makes_a_failure_and_leaves_the_latency(
    session: Session, tmp_path: Path, kind: str, env: dict[str, str], words: str
) -> None:
    measured, result = run(session, tmp_path, "delay", kind, env=env)
    assert len(measured.launches) == 3
    assert result.outcome is Outcome.FAILED
    assert (result.reason or "").startswith(f"the pass for `{kind}` failed: ")
    assert words in (result.reason or "")
    assert samples(result, "NET latency") == (100.0, 100.0)


def test_a_long_run_comes_last_in_a_launch_of_its_own_with_as_much_time(session: Session, tmp_path: Path) -> None:
    sustained = SustainedRequest(seconds=600)
    measured, result = run(session, tmp_path, "delay", "operators", sustained=sustained, timeout_s=50, time_limit_s=9)
    assert result.outcome is Outcome.OK, result.reason
    assert trace(measured) == [("50",), ("50",), ("50", "--operators"), ("50", "--sustained", "600")]
    assert samples(result, "SUSTAINED latency") == (300.0,)
    assert samples(result, "SUSTAINED start_time") == (0.0,)
    assert samples(result, "SUSTAINED decode_rate") == (8.0,), "what it names so itself is in the order of start times"
    assert samples(result, "SUSTAINED generation_time") == (9.0,)
    assert samples(result, "NET latency") == (100.0, 100.0)
    assert result.metric("NET start_time") is result.metric("LLM decode_rate") is None


def test_a_long_run_that_heats_the_device_until_it_throttles_is_kept(session: Session, tmp_path: Path) -> None:
    heated = HeatedSession(session)
    measured, result = run(heated, tmp_path, "delay", sustained=SustainedRequest(seconds=600))
    assert result.outcome is Outcome.OK, result.reason
    assert trace(measured) == [("50",), ("50",), ("50", "--sustained", "600")]
    assert measured.launches[-1].throttled
    assert samples(result, "SUSTAINED latency") == (300.0,)
    assert not {"spoilt_by_heat", "throttled"} & {note.code for note in result.notes}, "the steady figures are sound"


def test_a_long_run_without_figures_is_a_failure_and_leaves_the_latency(session: Session, tmp_path: Path) -> None:
    sustained = SustainedRequest(seconds=10)
    _, result = run(session, tmp_path, "delay", sustained=sustained, env={"NO_LONG_RUN": "1"})
    assert result.outcome is Outcome.FAILED
    assert "the pass for `sustained` failed: its launch reported no such figure" in (result.reason or "")
    assert samples(result, "NET latency") == (100.0, 100.0)


def test_a_comparison_says_that_it_has_no_long_run() -> None:
    asking = Benchmark.model_validate(
        {
            "id": 0,
            "model": Model(name="m", format="f"),
            "identifier": "t",
            "metric": "delay",
            "framework": "composer",
            "origin": SpecificationPlace(file=Path("spec.json")),
            "digest": "0",
            "sustained": {"seconds": 20},
        }
    )
    (note,) = note_unused_long_run(asking)
    assert note.code == "sustained_left_out"
    assert note_unused_long_run(asking.model_copy(update={"sustained": None})) == ()
