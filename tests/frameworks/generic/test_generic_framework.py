from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from msgspec import structs
from pydantic import JsonValue

from frameworks import generic
from harness import shell
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Model, OutputFile, SpecificationPlace
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, BuildFailed
from harness.core.protocols import Framework, Task

DEVICE = Device(platform="host", identity="here", name="here")
LINE = '{"type": "NET", "metric": "latency", "unit": "us", "value": %d}'


class Unwatched:
    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        pass

    def task(self, text: str, total: float | None = None) -> AbstractContextManager[Task]:
        return nullcontext(self)

    def say(self, text: str) -> None:
        pass

    def warn(self, text: str) -> None:
        pass


def framework(**programs: Path) -> Framework:
    return generic.create(Settings(program=programs))


def benchmark(
    *outputs: OutputFile, converter: str | None = None, converter_args: Mapping[str, JsonValue] | None = None
) -> Benchmark:
    return Benchmark(
        id=0,
        model=Model(name="echo", format="none"),
        identifier="t0",
        metric="generic",
        framework="generic",
        output_files=outputs,
        converter=converter,
        converter_args=dict(converter_args or {}),
        origin=SpecificationPlace(file=Path("echo.json"), pointer="/tests/0", line=7),
        digest="0" * 64,
    )


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def said(stdout: str = "", stderr: str = "", **files: Path) -> Completed:
    named = {f"output_files.{name}": path for name, path in files.items()}
    return Completed(Command(("x",)), 0, stdout=stdout, stderr=stderr, files=named)


def output(name: str, converter: str | None, **arguments: JsonValue) -> OutputFile:
    return OutputFile(
        key=f"output_files.{name}",
        filename=f"{name}.txt",
        location=f"{{TGTDIR}}/{name}",
        converter=converter,
        converter_args=arguments,
    )


def test_a_given_program_is_used_unchanged_and_identified_by_its_content(tmp_path: Path) -> None:
    program = script(tmp_path / "program", "exit 0")
    build = framework(program=program).build(DEVICE, Unwatched())
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    assert (build.source, build.flags, build.commit) == ("prebuilt", {"program": digest}, digest[:12])
    assert build.programs == {"program": program}


def test_each_of_several_programs_changes_the_digest(tmp_path: Path) -> None:
    program, helper = script(tmp_path / "program", "exit 0"), script(tmp_path / "helper", "exit 1")
    first = framework(program=program, helper=helper).build(DEVICE, Unwatched())
    script(helper, "exit 2")
    second = framework(program=program, helper=helper).build(DEVICE, Unwatched())
    assert first.digest != second.digest
    assert set(second.programs) == {"program", "helper"}


def test_a_relative_program_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "program", "exit 0")
    monkeypatch.chdir(tmp_path)
    assert framework(program=Path("program")).build(DEVICE, Unwatched()).programs == {"program": tmp_path / "program"}


def test_without_a_program_there_is_a_build_without_programs() -> None:
    build = framework().build(DEVICE, Unwatched())
    assert (build.source, build.programs) == ("none", {})


def test_a_missing_program_fails_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="there is no file") as caught:
        framework(program=tmp_path / "absent").build(DEVICE, Unwatched())
    assert "--program program=PATH" in (caught.value.hint or "")


def test_a_benchmark_without_commands_is_rejected_with_an_example() -> None:
    with pytest.raises(BenchmarkUnsupported, match=r"needs `commands` \(echo.json:7 /tests/0\)") as caught:
        framework().command(benchmark(), framework().build(DEVICE, Unwatched()), {})
    assert '"commands": [' in (caught.value.hint or "")


def test_output_of_a_real_program_is_parsed(tmp_path: Path) -> None:
    program = script(
        tmp_path / "program", f"echo 'PyTorchObserver {LINE % 5}'\necho 'PyTorchObserver {LINE % 6}' >&2\nexit 3"
    )
    completed = shell.run(Command((str(program),)))
    observations, notes = framework().parse([completed], benchmark())
    assert [observation.samples for observation in observations] == [(5.0,), (6.0,)]
    assert notes == ()


def test_both_outputs_of_all_commands_are_read_in_order() -> None:
    completed = [
        said(f"PyTorchObserver {LINE % 1}", f"PyTorchObserver {LINE % 2}"),
        said(f"Caffe2Observer {LINE % 3}"),
    ]
    observations, _ = framework().parse(completed, benchmark())
    assert [observation.samples for observation in observations] == [(1.0,), (2.0,), (3.0,)]


def test_notes_name_their_output() -> None:
    _, notes = framework().parse([said(), said(stderr="\nPyTorchObserver {")], benchmark())
    assert [note.code for note in notes] == ["bad_lines"]
    assert notes[0].message.startswith("standard error of command 2: ")
    assert "line 2" in notes[0].message


def test_a_single_json_document_on_standard_output_is_read() -> None:
    observations, notes = framework().parse([said('{"latency_ms": 3}', "log\n")], benchmark())
    assert [(o.name, o.unit, o.samples) for o in observations] == [("NET latency", "ms", (3.0,))]
    assert notes == ()


def test_the_converter_of_the_model_sets_the_identifier() -> None:
    text = f"Mine {LINE % 1}\nPyTorchObserver {LINE % 2}"
    chosen = benchmark(converter="json_with_identifier_converter", converter_args={"identifier": "Mine "})
    observations, notes = framework().parse([said(text)], chosen)
    assert [observation.samples for observation in observations] == [(1.0,)]
    assert notes == ()


def test_the_json_converter_reads_every_line() -> None:
    observations, _ = framework().parse([said(f"{LINE % 1}\n{LINE % 2}")], benchmark(converter="json_converter"))
    assert [observation.samples for observation in observations] == [(1.0, 2.0)]


def test_output_files_with_a_converter_are_read(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text(f"{LINE % 1}\n{LINE % 2}\n")
    (tmp_path / "marked").write_text(f"Mine {LINE % 3}\n")
    (tmp_path / "other").write_text(f"PyTorchObserver {LINE % 4}\n")
    outputs = (
        output("lines", "json_converter"),
        output("marked", "json_with_identifier_converter", identifier="Mine"),
        output("other", None),
    )
    completed = said(lines=tmp_path / "lines", marked=tmp_path / "marked", other=tmp_path / "other")
    observations, notes = framework().parse([completed], benchmark(*outputs))
    assert [observation.samples for observation in observations] == [(1.0, 2.0), (3.0,)]
    assert notes == ()


@pytest.mark.parametrize("text", [f"{LINE % 1}\n{LINE % 2}\n", f"[{LINE % 1}, {LINE % 2}]"])
def test_a_byte_order_mark_hides_no_observation(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text, encoding="utf-8-sig")
    observations, notes = framework().parse([said(x=tmp_path / "x")], benchmark(output("x", "json_converter")))
    assert [observation.samples for observation in observations] == [(1.0, 2.0)]
    assert notes == ()


@pytest.mark.parametrize("content", [b"", (LINE % 1).encode("utf-16")], ids=["empty", "UTF-16"])
def test_an_output_file_in_which_its_converter_finds_nothing_is_noted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    _, notes = framework().parse([said(x=tmp_path / "x")], benchmark(output("x", "json_converter")))
    assert [(note.code, note.message) for note in notes] == [("output_file", "x.txt: no observation found in it")]


@pytest.mark.parametrize(
    ("converter", "reason"),
    [("etdump", "no converter `etdump`"), ("json_with_identifier_converter", "has no `identifier`")],
)
def test_an_unknown_converter_makes_the_result_untrusted_and_lists_known_converters(
    tmp_path: Path, converter: str, reason: str
) -> None:
    (tmp_path / "x").write_text(LINE % 1)
    completed = said(f"PyTorchObserver {LINE % 2}", x=tmp_path / "x")
    for variant in (benchmark(output("x", converter)), benchmark(converter=converter)):
        observations, notes = framework().parse([completed], variant)
        assert [observation.samples for observation in observations] == [(2.0,)]
        assert [(note.code, note.trust) for note in notes] == [("converter", False)]
        assert reason in notes[0].message
        assert "json_converter, json_with_identifier_converter" in (notes[0].hint or "")


def test_an_unreadable_output_file_makes_the_result_untrusted(tmp_path: Path) -> None:
    _, notes = framework().parse([said(x=tmp_path)], benchmark(output("x", "json_converter")))
    assert [(note.code, note.trust) for note in notes] == [("output_file", False)]


def test_output_files_of_a_failed_launch_are_not_read() -> None:
    assert framework().parse([said()], benchmark(output("x", "json_converter"))) == ((), ())


@pytest.mark.parametrize(("asked", "codes"), [(30, ["iterations"]), (2, []), (1, []), (-1, [])])
def test_a_program_that_reports_fewer_iterations_than_asked_for_is_noted(asked: int, codes: list[str]) -> None:
    printed = "".join(f"PyTorchObserver {LINE % value}\n" for value in (5, 6))
    completed = Completed(command=Command(("x",)), exit_code=0, stdout=printed, stderr="", wall_s=0.1)
    asked_for = benchmark().model_copy(update={"iterations": asked})
    _, notes = framework().parse([completed], asked_for)
    assert [note.code for note in notes] == codes
    assert all(note.trust and "2 of 30 iterations" in note.message for note in notes)
    limited = asked_for.model_copy(update={"time_limit_s": 1.0})
    assert framework().parse([completed], limited)[1] == (), "time may end it"
    assert framework().parse([structs.replace(completed, exit_code=1)], asked_for)[1] == ()
