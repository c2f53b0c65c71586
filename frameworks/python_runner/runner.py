"""One run: load, warm up, iterate, print observer lines. Prints nothing while it iterates."""

from __future__ import annotations

import contextlib
import gc
import io
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from frameworks.python_runner.arguments import Arguments, parse_arguments
from frameworks.python_runner.clocks import Clocks, open_own_time, open_process_time
from frameworks.python_runner.engine import (
    Engine,
    Generates,
    HasOwnErrors,
    ImportsRuntime,
    LoadedModel,
    LoadRequest,
    Output,
    TimesOperators,
)
from frameworks.python_runner.examples import run_examples
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.generation import Generation
from frameworks.python_runner.lines import ColdLoad, Run, example_lines, observer_lines
from frameworks.python_runner.machine import memory_bytes
from frameworks.python_runner.measure import Execution, measure
from frameworks.python_runner.page_cache import drop_from_page_cache
from frameworks.python_runner.phases import Phases
from frameworks.python_runner.tensors import check_file, read_inputs
from frameworks.python_runner.threads import ThreadObserver
from frameworks.python_runner.turns import Turns


def main(engine: Engine, argv: Sequence[str]) -> ExitStatus:
    """Run, print the results, and return the exit status."""
    log = io.StringIO()
    try:
        arguments = parse_arguments(argv)
        with contextlib.redirect_stderr(log):  # where runtimes write from Python
            runner = Runner(engine, arguments, log)
            lines = list(runner.execute_examples() if arguments.examples else observer_lines(runner.run()))
    except RunnerFailure as failure:
        sys.stderr.write(log.getvalue())
        print(f"error: {failure}", file=sys.stderr)
        return failure.status
    sys.stderr.write(log.getvalue())
    print("\n".join(lines), flush=True)
    return ExitStatus.OK


class Runner:
    """One run of an engine.

    Args:
        engine: The runtime.
        arguments: The arguments of the command line.
        log: Receives what is written to standard error from Python.
    """

    def __init__(self, engine: Engine, arguments: Arguments, log: io.StringIO) -> None:
        self._engine = engine
        self._arguments = arguments
        self._log = log
        self._program_loaded = 0

    def execute_examples(self) -> Iterator[str]:
        """Execute examples, and yield what is printed of them. Errors as for `run`."""
        self._import_runtime()
        model = self._load(Phases(is_recording=False))
        descriptions = run_examples(model, self._arguments, self._explaining)
        peak, threads, texts = memory_bytes("VmHWM"), model.threads, model.describe()
        del model
        yield from example_lines(descriptions, self._arguments.examples or 0, peak=peak, threads=threads, texts=texts)

    def run(self) -> Run:
        """Measure.

        Raises:
            RunnerFailure: The model cannot be measured.
        """
        arguments = self._arguments
        self._import_runtime()
        before = memory_bytes("VmRSS")
        phases = Phases(is_recording=arguments.phases)
        unavailable = self._drop_files() if arguments.cold else None
        begin = time.perf_counter_ns()
        model = self._load(phases)
        load_time_ns = time.perf_counter_ns() - begin
        after = memory_bytes("VmRSS")
        phases.end("method_load", "load")

        # With one thread that is ours everything happens on it; else the work of the whole process counts.
        clocks = self._choose_clocks(is_alone=model.threads == 1 and model.runs_on_caller)
        generation = self._make_generation(model, clocks)
        work = generation or Execution(model, read_inputs(model.inputs, arguments.inputs), clocks)
        gc.collect()
        gc.disable()  # a collection would disturb an iteration
        threads = ThreadObserver()
        with self._explaining("the program failed while it was executed"):
            turns = Turns(sys.stdin, sys.stdout) if arguments.turns else None
            measurement = measure(work, arguments, turns, warmed=threads.begin)
            threads_observed = threads.count()
        last_peak = memory_bytes("VmHWM")
        phases.end("first_execution", "first_execution")
        peak = phases.whole_peak(last_peak)
        if generation is not None:
            with self._explaining("the program failed while the perplexity was computed"):
                generation.finish()
        elif arguments.outputs:
            write_outputs(model.outputs(), arguments.outputs)
        operators = None
        if arguments.operators and generation is None and isinstance(model, TimesOperators):
            operators = tuple(model.operator_times(measurement.warmup_done, measurement.iterations_done))
        return Run(
            threads=model.threads,
            threads_observed=threads_observed,
            load_time_ns=load_time_ns,
            memory={"memory_before_load": before, "memory_after_load": after, "peak_memory": peak},
            measurement=measurement,
            texts=model.describe(),
            operators_requested=arguments.operators,
            operators=operators,
            cold=ColdLoad(unavailable, self._program_loaded - begin) if arguments.cold else None,
            phases=phases if arguments.phases else None,
            planned=model.memory() if arguments.phases else {},
            generation=None if generation is None else tuple(generation.lines()),
            is_long=arguments.sustained_s > 0,
        )

    def _choose_clocks(self, *, is_alone: bool) -> Clocks:
        if self._arguments.own_time and not is_alone:
            raise RunnerFailure(ExitStatus.USAGE, "argument --own-time: needs a runtime with one thread")
        wall_clock = open_own_time() if self._arguments.own_time else time.perf_counter_ns
        return Clocks(wall_clock, time.thread_time_ns if is_alone else open_process_time())

    def _make_generation(self, model: LoadedModel, clocks: Clocks) -> Generation | None:
        if self._arguments.generate is None:
            return None
        if not isinstance(model, Generates):
            sentence = "argument --generate: this runtime cannot generate; ExecuTorch's runners can"
            raise RunnerFailure(ExitStatus.USAGE, sentence)
        with self._explaining("the program cannot generate"):
            return Generation(model.language_model(), self._arguments, clocks)

    def _import_runtime(self) -> None:
        if isinstance(self._engine, ImportsRuntime):
            self._engine.import_runtime(self._make_request())

    def _load(self, phases: Phases) -> LoadedModel:
        check_file(self._arguments.model, ExitStatus.NOT_LOADED)

        def end_program_load() -> None:
            self._program_loaded = time.perf_counter_ns()
            phases.end("program_load", "program_load")

        try:
            model = self._engine.load(replace(self._make_request(), program_loaded=end_program_load))
        except MemoryError as error:
            raise RunnerFailure(ExitStatus.OUT_OF_MEMORY, f"out of memory: {error}") from error
        if not self._program_loaded:
            end_program_load()
        return model

    def _make_request(self) -> LoadRequest:
        arguments = self._arguments
        return LoadRequest(
            model=arguments.model,
            method=arguments.method,
            threads=arguments.threads,
            options=arguments.options,
            operators=arguments.operators,
            log=self._log,
        )

    def _drop_files(self) -> str | None:
        """Drop the model from the page cache, and return why it is still there; None where it is not."""
        reasons = [drop_from_page_cache(file).unavailable for file in self._engine.files(self._arguments.model)]
        return next((reason for reason in reasons if reason is not None), None)

    def _errors(self) -> tuple[type[Exception], ...]:
        """Return the classes of what the runtime may raise."""
        return (
            RuntimeError,
            ValueError,
            *(self._engine.own_errors() if isinstance(self._engine, HasOwnErrors) else ()),
        )

    @contextlib.contextmanager
    def _explaining(self, what: str) -> Iterator[None]:
        """Turn what the runtime raises while it executes into a `RunnerFailure`."""
        try:
            yield
        except MemoryError as error:
            raise RunnerFailure(ExitStatus.OUT_OF_MEMORY, f"out of memory: {error}") from error
        except self._errors() as error:
            failure = self._engine.explain(error, what, self._log.getvalue())
            detail = " ".join(str(error).split())
            raise failure or RunnerFailure(ExitStatus.NOT_EXECUTED, f"{what} ({detail})") from error


def write_outputs(outputs: Sequence[Output], base: str) -> None:
    """Write `BASE-0.bin`, `BASE-1.bin`, ...: raw little-endian, in the output's own memory layout.

    Raises:
        RunnerFailure: A file cannot be written.
    """
    for index, output in enumerate(outputs):
        file = Path(f"{base}-{index}.bin")
        try:
            file.write_bytes(output.stored or output.content)
        except OSError as error:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, f"cannot write {file}") from error
