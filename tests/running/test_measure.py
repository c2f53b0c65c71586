from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from frameworks.generic.framework import Generic
from harness.core.benchmark import Benchmark, HostStep, Model, ModelFile, OutputFile, SpecificationPlace
from harness.core.build import Build
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.measurement import Job, Measurement
from harness.core.metric import Observation
from harness.core.protocols import Session
from harness.core.result import Outcome
from harness.running.measure import MeasuringStopped, measure
from harness.shell import Interrupted
from harness.testing.progress import RecordedProgress

ORIGIN = SpecificationPlace(file=Path("spec.json"))
OBSERVE = "import sys; [print('PyTorchObserver ' + a) for a in sys.argv[1:]]"


def line(value: float, metric: str = "latency") -> str:
    return json.dumps({"type": "NET", "metric": metric, "unit": "us", "value": str(value)})


def command(code: str, *arguments: str) -> str:
    return shlex.join((sys.executable, "-c", code, *arguments))


def benchmark(*commands: str, **fields: Any) -> Benchmark:  # noqa: ANN401 - whatever a benchmark has
    return Benchmark(
        id=0,
        model=Model(name="model", format="none"),
        identifier="test",
        metric="delay",
        framework="generic",
        commands=commands,
        origin=ORIGIN,
        digest="0",
        **fields,
    )


def file_entry(key: str, path: Path) -> tuple[ModelFile, CachedFile]:
    entry = ModelFile(key=key, filename=path.name, location=str(path), origin=ORIGIN)
    cached = CachedFile(
        key=key,
        filename=path.name,
        path=path,
        md5=str(hash(path.read_bytes())),
        size_bytes=path.stat().st_size,
        source=str(path),
    )
    return entry, cached


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def measure_job(
    job: Benchmark, session: Session, scratch: Path, files: dict[str, CachedFile] | None = None, **programs: Path
) -> Measurement:
    return measure(
        Job(job, Build(source="none", commit="none", programs=programs), files or {}),
        session,
        Generic(programs),
        scratch=scratch,
        clock=time.time,
        progress=RecordedProgress(),
    )


def test_every_launch_gives_its_own_samples(session: Session, scratch: Path) -> None:
    code = "import sys; n = int(sys.argv[1]); print('PyTorchObserver ' + sys.argv[2].replace('7', str(n)))"
    result = measure_job(benchmark(command(code, "{INDEX}", line(7)), launches=3), session, scratch)
    assert result.outcome is Outcome.OK
    assert [launch[0].samples for launch in result.observations] == [(0.0,), (1.0,), (2.0,)]
    assert [launch.index for launch in result.launches] == [0, 1, 2]


def test_each_launch_has_the_state_of_the_device_before_and_after(session: Session, scratch: Path) -> None:
    (launch,) = measure_job(benchmark(command(OBSERVE, line(1))), session, scratch).launches
    assert launch.before is not None
    assert launch.after is not None
    assert launch.before.time <= launch.started <= launch.after.time
    assert launch.cpu_s is not None


def test_an_interruption_between_launches_tells_what_was_launched(scratch: Path, session: Session) -> None:
    class Stopping:
        """Session in whose second launch Ctrl-C arrives."""

        def __init__(self) -> None:
            self.launches = 0

        def __getattr__(self, name: str) -> object:
            return getattr(session, name)

        def run(self, started: Command) -> Completed:
            self.launches += 1
            if self.launches == 2:
                raise Interrupted("stopped while the program was running")
            return session.run(started)

    with pytest.raises(MeasuringStopped, match=r"stopped after 1 launch$") as stop:
        measure_job(benchmark(command(OBSERVE, line(7)), launches=3), cast("Session", Stopping()), scratch)
    measurement = stop.value.measurement
    assert measurement.outcome is Outcome.INTERRUPTED
    assert [launch[0].samples for launch in measurement.observations] == [(7.0,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "timeout_s", "outcome", "words"),
    [
        ("raise SystemExit(3)", 60.0, Outcome.FAILED, "exit status 3"),
        ("import os; os.kill(os.getpid(), 11)", 60.0, Outcome.CRASHED, "SIGSEGV"),
        ("import time; time.sleep(600)", 4.0, Outcome.TIMEOUT, "did not end within 4 s"),
    ],
)
def test_a_failing_program_has_an_outcome_and_is_started_once(
    session: Session, scratch: Path, *, tmp_path: Path, code: str, timeout_s: float, outcome: Outcome, words: str
) -> None:
    count = f"open({str(tmp_path / 'count')!r}, 'a').write('x'); print({'PyTorchObserver ' + line(5)!r}, flush=True); "
    result = measure_job(benchmark(command(count + code), timeout_s=timeout_s, launches=3), session, scratch)
    assert result.outcome is outcome
    assert words in (result.reason or "")
    expected_hint = "`--timeout SECONDS`, or the key `timeout`" if outcome is Outcome.TIMEOUT else "`logs`"
    assert expected_hint in (result.hint or "")
    assert (tmp_path / "count").read_text() == "x"
    assert result.observations[0][0].samples == (5.0,), "output before the failure is lost"


def test_a_missing_program_is_named_in_the_failure(session: Session, scratch: Path) -> None:
    result = measure_job(benchmark("/nowhere/program"), session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "/nowhere/program" in (result.reason or "")


def test_a_placeholder_without_program_says_how_to_give_one(session: Session, scratch: Path) -> None:
    result = measure_job(benchmark("{program} --x"), session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "--program" in (result.hint or "")


def test_files_and_programs_are_placeholders(session: Session, scratch: Path, tmp_path: Path) -> None:
    model = tmp_path / "my model.bin"
    model.write_text("weights")
    program = tmp_path / "runner"
    program.write_text(f"#!/bin/sh\ncat \"$1\" >&2\necho 'PyTorchObserver {line(1)}'\n")
    program.chmod(0o755)
    entry, cached = file_entry("files.model", model)
    job = benchmark("{program} {files.model}", files=(entry,), arguments="--more")
    result = measure_job(job, session, scratch, {"files.model": cached}, program=program)
    assert result.outcome is Outcome.OK
    assert any(log.text == "weights" for log in result.logs)
    assert result.launches[0].commands[0][-1] == "--more"


def test_two_files_of_one_name_are_refused(session: Session, scratch: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in "ab":
        (tmp_path / folder / "x.bin").write_text(folder)
    first, first_file = file_entry("files.a", tmp_path / "a" / "x.bin")
    second, second_file = file_entry("files.b", tmp_path / "b" / "x.bin")
    job = benchmark("true", files=(first, second))
    result = measure_job(job, session, scratch, {"files.a": first_file, "files.b": second_file})
    assert result.outcome is Outcome.FAILED
    assert "x.bin" in (result.reason or "")


def test_an_output_file_is_fetched_and_a_stale_one_is_ignored(session: Session, scratch: Path) -> None:
    output = OutputFile(
        key="output_files.log", filename="log.txt", location="{TGTDIR}/log.txt", converter="json_converter"
    )
    write_once = "import sys; sys.argv[2] == '0' and open(sys.argv[1], 'w').write(sys.argv[3])"
    text = command(write_once, "{TGTDIR}log.txt", "{INDEX}", line(9))
    result = measure_job(benchmark(text, output_files=(output,), launches=2), session, scratch)
    assert result.observations[0][0].samples == (9.0,)
    assert result.outcome is Outcome.FAILED
    assert "did not write" in (result.reason or "")


def test_an_output_that_is_a_pipe_fails_the_launch_and_keeps_its_log(session: Session, scratch: Path) -> None:
    output = OutputFile(key="output_files.log", filename="log.txt", location="{TGTDIR}/log.txt")
    text = command("import os, sys; os.mkfifo(sys.argv[1]); print(sys.argv[2])", "{TGTDIR}log.txt", line(9))
    result = measure_job(benchmark(text, output_files=(output,)), session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "the program ended well but" in (result.reason or "")
    assert "is no regular file" in (result.reason or "")
    assert any("9" in log.text for log in result.logs)


def test_host_steps_run_before_and_after_and_may_report(session: Session, scratch: Path) -> None:
    before = HostStep(commands=(command("open('made', 'w').write('x')"),))
    after = HostStep(commands=(command(OBSERVE, line(0.9, "accuracy")),))
    job = benchmark(command(OBSERVE, line(1)), before=before, after=after, model_before=before, model_after=before)
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.OK
    assert (scratch / "made").exists()
    assert [observation.metric for observation in result.observations[0]] == ["latency", "accuracy"]


def test_words_of_a_shell_are_noted_because_programs_get_them(session: Session, scratch: Path) -> None:
    result = measure_job(benchmark(f"{command(OBSERVE, line(1))} > out.txt"), session, scratch)
    assert result.outcome is Outcome.OK
    (note,) = (note for note in result.notes if note.code == "shell_words")
    assert note.message.startswith("`>` in `")
    assert note.message.endswith("> out.txt` was passed to the program")


def observed(observations: Sequence[Observation]) -> list[tuple[str, tuple[float, ...]]]:
    return [(observation.metric, observation.samples) for observation in observations]


def test_what_every_step_prints_is_reported_in_the_order_of_fai_pep(session: Session, scratch: Path) -> None:
    def step(metric: str) -> HostStep:
        index = "{INDEX}" if metric in {"before", "after"} else "9"
        code = "import sys; print('PyTorchObserver ' + sys.argv[1].replace('7', sys.argv[2]))"
        return HostStep(commands=(command(code, line(7, metric), index),))

    job = benchmark(
        command(OBSERVE, line(1)),
        launches=2,
        model_before=step("model_before"),
        before=step("before"),
        after=step("after"),
        model_after=step("model_after"),
    )
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.OK, result.reason
    first, second = result.reported
    assert observed(first) == [
        ("model_before", (9.0,)),
        ("before", (0.0,)),
        ("latency", (1.0,)),
        ("after", (0.0,)),
    ]
    assert observed(second) == [
        ("before", (1.0,)),
        ("latency", (1.0,)),
        ("after", (1.0,)),
        ("model_after", (9.0,)),
    ]
    names = [log.name for log in result.logs]
    assert names[:2] == ["preprocess-model.stdout", "launch-0-preprocess.stdout"]
    assert names[-1] == "postprocess-model.stdout"


def test_steps_may_print_other_json(session: Session, scratch: Path) -> None:
    steps = {
        name: HostStep(commands=(command(f"print({text!r})"),))
        for name, text in {
            "model_before": '{"images": 500, "broken": null}',
            "before": '[{"file": "a.pb"}]',
            "after": '{"type": "summary"}\n{"latency_ms": 7}',
            "model_after": "{not JSON",
        }.items()
    }
    result = measure_job(benchmark(command(OBSERVE, line(1)), **steps), session, scratch)
    assert [observed(launch) for launch in result.reported] == [[("latency", (1.0,))]]
    assert result.notes == ()


def test_a_broken_observer_line_of_a_step_is_noted_with_its_step(session: Session, scratch: Path) -> None:
    broken = HostStep(commands=(command(OBSERVE, '{"type": "NET", "metric": "accuracy", "value": "much"}'),))
    result = measure_job(benchmark(command(OBSERVE, line(1)), model_after=broken), session, scratch)
    assert [note.code for note in result.notes] == ["bad_lines", "lost_metric"]
    assert all(note.message.startswith("postprocess-model: standard output: ") for note in result.notes)


def test_a_framework_that_knows_no_steps_reads_them_like_its_runners(session: Session, scratch: Path) -> None:
    class Simple:
        name = "simple"

        def __init__(self) -> None:
            self.build, self.command, self.parse = generic.build, generic.command, generic.parse

    generic = Generic({})
    step = HostStep(commands=(command(OBSERVE, line(2, "images")),))
    result = measure(
        Job(benchmark(command(OBSERVE, line(1)), before=step), Build(source="none", commit="none"), {}),
        session,
        Simple(),
        scratch=scratch,
        clock=time.time,
        progress=RecordedProgress(),
    )
    assert observed(result.reported[0]) == [("images", (2.0,)), ("latency", (1.0,))]


def test_a_file_made_by_a_step_is_staged_for_each_launch(session: Session, scratch: Path) -> None:
    make = command("import sys; open('made.txt', 'w').write(sys.argv[1])", "{INDEX}")
    entry = ModelFile(key="input_files.made", filename="made.txt", location="{HOSTDIR}/made.txt", origin=ORIGIN)
    read = command("import sys; print('PyTorchObserver ' + sys.argv[2].replace('7', open(sys.argv[1]).read()))")
    job = benchmark(
        f"{read} {{input_files.made}} '{line(7)}'", before=HostStep(commands=(make,)), input_files=(entry,), launches=2
    )
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.OK, result.reason
    assert [launch[0].samples for launch in result.observations] == [(0.0,), (1.0,)]
    assert result.made["input_files.made"].size_bytes == 1


def test_a_file_that_no_step_made_is_reported(session: Session, scratch: Path) -> None:
    entry = ModelFile(key="input_files.made", filename="x", location="{HOSTDIR}/x", origin=ORIGIN)
    result = measure_job(benchmark("true", input_files=(entry,)), session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "input_files.made" in (result.reason or "")


def test_variables_may_name_folders(session: Session, scratch: Path) -> None:
    show = command("import os; print(os.environ['OUT'])")
    result = measure_job(
        benchmark(show, env={"OUT": "{TGTDIR}x {{literal}}"}, before=HostStep(commands=("true",))), session, scratch
    )
    assert result.logs[0].text.endswith("/x {literal}\n")


def test_a_failing_step_ends_the_benchmark(session: Session, scratch: Path) -> None:
    job = benchmark(command(OBSERVE, line(1)), before=HostStep(commands=("false",)))
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "preprocess" in (result.reason or "")
    assert not result.launches


def test_the_environment_of_a_benchmark_is_passed_only_to_its_program(session: Session, scratch: Path) -> None:
    show = "import os; print(os.environ.get('EDGE_LEAK', 'none'))"
    first = measure_job(benchmark(command(show), env={"EDGE_LEAK": "1"}), session, scratch)
    second = measure_job(benchmark(command(show)), session, scratch)
    assert first.logs[0].text == "1\n"
    assert second.logs[0].text == "none\n"


@pytest.mark.slow
def test_a_time_limit_ends_the_launches_with_a_note(session: Session, scratch: Path) -> None:
    slow = command("import time; time.sleep(0.4); " + f"print({'PyTorchObserver ' + line(1)!r})")
    result = measure_job(benchmark(slow, launches=50, time_limit_s=0.6), session, scratch)
    assert result.outcome is Outcome.OK
    assert 1 <= len(result.launches) < 50
    assert [note.code for note in result.notes] == ["fewer_launches"]


def made_file(name: str, location: str) -> ModelFile:
    return ModelFile(key=f"input_files.{name}", filename=f"{name}.txt", location=location, origin=ORIGIN)


def test_a_step_may_name_its_output_file_by_placeholder(session: Session, tmp_path: Path) -> None:
    write = command("import sys; open(sys.argv[1], 'w').write(sys.argv[2])", "{input_files.made}", "{INDEX}")
    read = command("import sys; print('PyTorchObserver ' + sys.argv[2].replace('7', open(sys.argv[1]).read()))")
    judge = command(
        "import sys; print('PyTorchObserver ' + sys.argv[2].replace('7', open(sys.argv[1]).read()))",
        "{input_files.made}",
        line(7, "seen"),
    )
    scratch = tmp_path / "with a space {and}"
    scratch.mkdir()
    job = benchmark(
        f"{read} {{input_files.made}} '{line(7)}'",
        before=HostStep(commands=(write,)),
        after=HostStep(commands=(judge,)),
        input_files=(made_file("made", "{HOSTDIR}/made-{INDEX}.txt"),),
        launches=2,
    )
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.OK, result.reason
    assert [[observation.samples for observation in launch] for launch in result.observations] == [
        [(0.0,)] * 2,
        [(1.0,)] * 2,
    ]


def test_a_made_file_may_be_named_after_the_location_of_another(session: Session, scratch: Path) -> None:
    write = command("import sys; [open(name, 'w').write('x') for name in sys.argv[1:]]")
    job = benchmark(
        command(OBSERVE, line(1)),
        before=HostStep(commands=(f"{write} {{input_files.a}} {{input_files.b}}",)),
        input_files=(made_file("a", "{input_files.b}.index"), made_file("b", "{HOSTDIR}/b")),
    )
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.OK, result.reason
    assert result.made["input_files.a"].path == scratch / "b.index"


def test_circular_file_names_are_a_failure_that_shows_the_circle(session: Session, scratch: Path) -> None:
    files = (made_file("a", "{input_files.b}"), made_file("b", "{input_files.a}"))
    result = measure_job(benchmark("true", input_files=files), session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "refers to itself" in (result.reason or "")


def test_a_list_of_files_is_expanded_to_several_arguments(session: Session, scratch: Path, tmp_path: Path) -> None:
    """As the loader makes it: its name stands for the names of its entries. Paths with spaces stay whole."""
    pairs = []
    for number, name in enumerate(("first one.bin", "second.bin")):
        (tmp_path / name).write_text(name)
        pairs.append(file_entry(f"input_files.data.{number}", tmp_path / name))
    show = command("import sys; print([a.rpartition('/')[2] for a in sys.argv[1:]])")
    job = benchmark(
        f"{show} {{input_files.data}} '--both={{input_files.data}}'",
        input_files=tuple(entry for entry, _ in pairs),
        variables={"input_files.data": "{input_files.data.0} {input_files.data.1}"},
    )
    result = measure_job(job, session, scratch, {entry.key: cached for entry, cached in pairs})
    assert result.logs[0].text == "['first one.bin', 'second.bin', 'second.bin']\n"


@pytest.mark.parametrize("first", ["made", "there"])
def test_the_program_of_a_step_may_be_made_or_in_a_folder_known_late(
    session: Session, scratch: Path, first: str
) -> None:
    """FAI-PEP's scripts are named as `{FAIPEPROOT}/libraries/...`."""
    program = scratch / "tool.sh"
    if first == "there":
        program.write_text("#!/bin/sh\ntouch ran\n")
    make = command("open('tool.sh', 'w').write('#!/bin/sh\\ntouch ran\\n')")
    tool = ModelFile(key="preprocess.files.program", filename="tool.sh", location="{HOSTDIR}/tool.sh", origin=ORIGIN)
    job = benchmark(
        command(OBSERVE, line(1)),
        model_before=HostStep(commands=(make,) if first == "made" else ()),
        before=HostStep(files=(tool,), commands=("{preprocess.files.program}",)),
    )
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.OK, result.reason
    assert (scratch / "ran").exists()


def test_a_missing_program_of_a_step_is_named_in_the_failure(session: Session, scratch: Path) -> None:
    tool = ModelFile(key="preprocess.files.program", filename="tool", location="{FAIPEPROOT}/no/tool", origin=ORIGIN)
    job = benchmark("true", before=HostStep(files=(tool,), commands=("{preprocess.files.program}",)))
    result = measure_job(job, session, scratch)
    assert result.outcome is Outcome.FAILED
    assert "preprocess.files.program" in (result.reason or "")


def test_a_script_that_may_be_started_finds_its_neighbours(session: Session, scratch: Path) -> None:
    (scratch / "neighbour").write_text("here")
    tool = scratch / "tool.sh"
    tool.write_text('#!/bin/sh -e\ncp "$(dirname "$0")/neighbour" ran\n')
    tool.chmod(0o755)
    entry = ModelFile(key="preprocess.files.program", filename="t", location="{HOSTDIR}/tool.sh", origin=ORIGIN)
    step = HostStep(files=(entry,), commands=("{preprocess.files.program}",))
    result = measure_job(benchmark(command(OBSERVE, line(1)), before=step), session, scratch)
    assert result.outcome is Outcome.OK, result.reason
    assert (scratch / "ran").exists()


def test_operators_reported_per_call_are_summed_per_iteration(session: Session, scratch: Path) -> None:
    calls = [
        line(150),
        *(json.dumps({"type": "conv", "metric": "latency", "unit": "us", "value": value}) for value in (99, 51)),
    ]
    with_operators = measure_job(benchmark(command(OBSERVE, *calls), operators=True), session, scratch)
    assert [operator.samples for operator in with_operators.observations[0]] == [(150,), (150,)]
    without_operators = measure_job(benchmark(command(OBSERVE, *calls)), session, scratch)
    assert [operator.samples for operator in without_operators.observations[0]] == [(150,), (99, 51)]
