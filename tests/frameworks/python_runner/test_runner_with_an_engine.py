"""The runner around an engine of this test: what it asks of an engine, and what it prints."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from frameworks.python_runner.engine import LoadRequest, OperatorTimes, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.runner import main


class Doubling:
    """A model that doubles two numbers."""

    inputs = (Tensor("x", "float32", (1, 2)),)
    threads: int | None = 1
    runs_on_caller = True
    consumes_inputs = False

    def __init__(self, request: LoadRequest) -> None:
        self.request = request
        self.executed = self.set = 0
        self._numbers: tuple[float, ...] = ()

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        self.set += 1
        self._numbers = struct.unpack("<2f", contents[0])

    def execute(self) -> None:
        self.executed += 1
        if self.request.options.get("fails") == str(self.executed):
            raise RuntimeError("no\nroom for it")

    def outputs(self) -> Sequence[Output]:
        return [Output(Tensor("y", "float32", (1, 2)), struct.pack("<2f", *(2 * value for value in self._numbers)))]

    def describe(self) -> Mapping[str, str | int]:
        return {"runtime": "doubling 1", "streams": 1, **self.request.options}

    def memory(self) -> Mapping[str, int]:
        return {"planned_memory": 8}

    def operator_times(self, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
        times = [float(skipped)] * iterations
        return [OperatorTimes("Mul", "0", times), OperatorTimes("Add", "1", times), OperatorTimes("Mul", "2", times)]


class OnItsOwn(Doubling):
    """The same on a thread of its own, and without a word on threads."""

    threads = None

    def execute(self) -> None:
        worker = threading.Thread(target=_compute)
        worker.start()
        worker.join()


def _compute() -> None:
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass


class Runtime:
    """An engine that keeps what it loads."""

    def __init__(self, model: type[Doubling] = Doubling) -> None:
        self.model = model
        self.loaded: list[Doubling] = []

    def load(self, request: LoadRequest) -> Doubling:
        if "unknown" in request.options:
            raise RunnerFailure(ExitStatus.USAGE, "argument --option: there is no option unknown")
        self.loaded.append(self.model(request))
        return self.loaded[-1]

    def files(self, model: Path) -> Sequence[Path]:
        return (model, model.with_suffix(".weights"))

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure | None:
        return None


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "net.bin").write_bytes(b"a model")
    (tmp_path / "net.weights").write_bytes(b"its weights")
    return tmp_path / "net.bin"


def observed(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        observation = json.loads(line.removeprefix("PyTorchObserver "))
        name = f"{observation['type']} {observation['metric']}"
        found.setdefault(name, []).append(observation.get("value") or observation["info_string"])
    return found


def test_every_iteration_is_a_sample_and_options_are_told(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = Runtime()
    arguments = ["--model", str(model), "--warmup", "2", "--iter", "5", "--threads", "1", "--option", "level=all"]
    assert main(engine, arguments) == 0

    lines = observed(capsys.readouterr().out)
    assert (len(lines["NET latency"]), len(lines["NET cpu_time"])) == (5, 5)
    assert (lines["RUN runtime"], lines["RUN level"], lines["RUN streams"]) == (["doubling 1"], ["all"], ["1"])
    assert (lines["RUN warmup_done"], lines["RUN iterations_done"], lines["RUN threads"]) == (["2"], ["5"], ["1"])
    assert {"RUN load_time", "RUN first_iteration", "RUN memory_after_load", "RUN peak_memory"} <= lines.keys()
    assert (engine.loaded[0].executed, engine.loaded[0].set) == (7, 1)


def test_inputs_that_are_consumed_are_set_before_each_iteration(model: Path) -> None:
    engine = Runtime(type("Consuming", (Doubling,), {"consumes_inputs": True}))
    assert main(engine, ["--model", str(model), "--warmup", "1", "--iter", "3"]) == 0
    assert engine.loaded[0].set == 4


def test_operators_have_a_name_for_each_occurrence(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(Runtime(), ["--model", str(model), "--warmup", "4", "--iter", "2", "--operators"]) == 0

    lines = observed(capsys.readouterr().out)
    assert [name for name in lines if name.endswith("latency")][1:] == [
        "Mul #1 latency",
        "Add #1 latency",
        "Mul #2 latency",
    ]
    assert (lines["Mul #2 latency"], lines["RUN operator_places"]) == (["4.0", "4.0"], ["0 1 2"])


def test_threads_that_compute_are_observed(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(Runtime(OnItsOwn), ["--model", str(model), "--warmup", "0", "--iter", "1"]) == 0
    lines = observed(capsys.readouterr().out)
    assert "RUN threads" not in lines  # the runtime does not say
    assert float(lines["NET cpu_time"][0]) >= 0.02e9  # that of the whole process


def test_examples_are_executed_one_by_one(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.bin").write_bytes(struct.pack("<6f", 1, 2, 3, 4, 5, 6))
    files = ["--inputs", str(tmp_path / "x.bin"), "--outputs", str(tmp_path / "y")]
    assert main(Runtime(), ["--model", str(model), "--examples", "3", *files]) == 0

    assert struct.unpack("<6f", (tmp_path / "y-0.bin").read_bytes()) == (2, 4, 6, 8, 10, 12)
    lines = observed(capsys.readouterr().out)
    assert lines["RUN output_0"] == ["float32 [1, 2] dim_order [0, 1]"]
    assert lines["RUN examples_done"] == ["3"]


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--option", "fails=2"], 4, "the program failed while it was executed (no room for it)"),
        (["--option", "unknown=1"], 2, "argument --option: there is no option unknown"),
        (["--option", "level"], 2, "argument --option: 'level' is not NAME=VALUE"),
        (["--option", "a=1", "--option", "a=2"], 2, "argument --option: 'a=2' is given twice"),
        (["--inputs", "missing.bin"], 2, "no such file: missing.bin"),
    ],
)
def test_failures_are_one_sentence_and_print_no_numbers(
    model: Path, words: Sequence[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(Runtime(), ["--model", str(model), *words]) == status
    assert capsys.readouterr() == ("", f"error: {sentence}\n")


def test_an_input_of_another_size_is_named_with_both_sizes(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.bin").write_bytes(b"12345")
    assert main(Runtime(), ["--model", str(model), "--inputs", str(tmp_path / "x.bin")]) == 2
    assert "has 5 bytes; input 0 of the method needs 8" in capsys.readouterr().err


def test_a_cold_load_drops_every_file_of_the_model(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from frameworks.python_runner import runner  # noqa: PLC0415 - to look inside
    from frameworks.python_runner.page_cache import CachedPages  # noqa: PLC0415 - likewise

    dropped: list[str] = []

    def drop(path: Path) -> CachedPages:
        dropped.append(path.name)
        return CachedPages()

    monkeypatch.setattr(runner, "drop_from_page_cache", drop)
    assert main(Runtime(), ["--model", str(model), "--cold"]) == 0
    assert dropped == ["net.bin", "net.weights"]
    assert {"RUN cold_load_time", "RUN cold_first_iteration"} <= observed(capsys.readouterr().out).keys()


class Importing(Runtime):
    """An engine whose runtime takes long to import."""

    def __init__(self) -> None:
        super().__init__()
        self.imported: list[LoadRequest] = []

    def import_runtime(self, request: LoadRequest) -> None:
        assert not self.loaded
        self.imported.append(request)
        time.sleep(0.3)


def test_importing_the_runtime_is_no_part_of_loading_a_model(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = Importing()
    assert main(engine, ["--model", str(model), "--iter", "1", "--option", "level=all"]) == ExitStatus.OK
    assert [request.options for request in engine.imported] == [{"level": "all"}]
    (load_time_ns,) = observed(capsys.readouterr().out)["RUN load_time"]
    assert int(load_time_ns) < 0.3e9


def test_an_engine_without_language_models_refuses_to_generate(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", str(model), "--generate", "3", "--prompt-tokens", "4"]
    assert main(Runtime(), words) == ExitStatus.USAGE
    sentence = "error: argument --generate: this runtime cannot generate; ExecuTorch's runners can\n"
    assert capsys.readouterr() == ("", sentence)
