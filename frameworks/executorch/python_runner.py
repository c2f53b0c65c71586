"""Measures one ExecuTorch program through its Python extension: load, warm up, iterate, print observer lines.

Run as a file. It is the fallback for where no compiler is, and takes and prints exactly what the native runner does.

What it prints, after the measured part and never during it, one observer line each:

* `NET latency`, ns, for each timed iteration: wall clock around the execution alone.
* `NET cpu_time`, ns, likewise: CPU time of the calling thread where the pool has one thread, of the whole process
  where it has more. It includes the reading of the clocks, about half a microsecond.
* `RUN load_time`, ns: from opening the file to a method with initialised delegates.
* `RUN first_iteration`, ns: the very first execution after loading, whether warm-up or timed.
* `RUN memory_before_load`, `RUN memory_after_load`, `RUN peak_memory`, bytes of resident memory.
* `RUN threads` (as the pool reports), `RUN warmup_done`, `RUN iterations_done`.
* `RUN runtime` and, when the time limit ended it before `--iter`, `RUN stopped_early`: texts.

The time limit covers warm-up and timed iterations together. Warm-up ends after a quarter of it, but not before one
execution, if any was asked for. Timed iterations end when it is over and `--min-iter` of them were made.

Inputs are raw little-endian files in the input's own memory layout; without `--inputs` every element of every input
is one, as in upstream's `executor_runner` (a one is a valid index, token and mask, which noise is not).

Failures are one sentence, the last line of standard error. Exit status: 2 wrong arguments, 3 the program cannot be
loaded, 4 it failed while it was executed, 5 out of memory.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    import torch

USAGE, NOT_LOADED, NOT_EXECUTED, OUT_OF_MEMORY = 2, 3, 4, 5
"""Exit statuses; the same as in `native/failure.h`."""

_LARGEST = 1_000_000_000
_MOST_THREADS = 1024


class Failure(Exception):
    """The end of the run.

    Args:
        status: Exit status.
        sentence: What to tell the person.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class TensorInfo(Protocol):
    """`_C.TensorInfo`."""

    def sizes(self) -> tuple[int, ...]:
        """Dimensions; of a dynamic shape the largest."""

    def dtype(self) -> int:
        """Number of the scalar type."""

    def nbytes(self) -> int:
        """Size in bytes."""

    def is_memory_planned(self) -> bool:
        """Whether its memory is part of the program's plan."""


class MethodMeta(Protocol):
    """`_C.MethodMeta`."""

    def num_inputs(self) -> int:
        """How many inputs there are."""

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """One of them. Raises IndexError when it is not a tensor."""


class Method(Protocol):
    """`_C.ExecuTorchMethod`."""

    def set_inputs(self, inputs: Sequence[torch.Tensor]) -> None:
        """Copies planned inputs, keeps pointers to the others."""

    def execute(self) -> None:
        """Executes once."""

    def get_outputs(self, clone_outputs: bool = True) -> list[object]:
        """The outputs; unless cloned, valid until the next execution."""

    def method_meta(self) -> MethodMeta:
        """Describes the method."""


class Program(Protocol):
    """`_C.ExecuTorchProgram`."""

    def num_methods(self) -> int:
        """How many methods there are."""

    def get_method_name(self, method_index: int) -> str:
        """The name of one."""

    def load_method(self, method_name: str) -> Method:
        """Loads one and initialises its delegates."""


class Verification(Protocol):
    """`_C.Verification`."""

    InternalConsistency: object


class Runtime(Protocol):
    """The extension module: `_C` since 1.5, `_portable_lib` before."""

    Verification: Verification

    def _load_program(self, path: str, *, program_verification: object) -> Program: ...
    def _unsafe_reset_threadpool(self, num_threads: int) -> None: ...
    def _threadpool_get_thread_count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Arguments:
    """The command line."""

    model: Path
    method: str
    threads: int | None
    warmup: int
    iterations: int
    min_iterations: int
    time_limit_s: float
    inputs: tuple[Path, ...]
    outputs: str


@dataclass(slots=True)
class Measurement:
    """What the loop found.

    Attributes:
        first_iteration_ns: The very first execution after loading.
        warmup_done: Executions that were not timed.
        wall_ns: Wall clock of each timed iteration.
        cpu_ns: CPU clock of each timed iteration.
        stopped_by_time_limit: Whether it ended before all iterations that were asked for.
    """

    first_iteration_ns: int = 0
    warmup_done: int = 0
    wall_ns: list[int] = field(default_factory=list)
    cpu_ns: list[int] = field(default_factory=list)
    stopped_by_time_limit: bool = False


# --- the command line --------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure(USAGE, message)


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Read the command line, strictly.

    Raises:
        Failure: With a sentence that names the argument.
    """
    parser = _Parser(prog="python_runner.py", description="Measures one ExecuTorch program.", allow_abbrev=False)
    add = parser.add_argument
    add("--model", type=Path, help="the program, a .pte file")
    add("--method", default="forward", help="its method (default: %(default)s)")
    add("--threads", type=_whole(1, _MOST_THREADS), help="size of the thread pool (default: the runtime's own)")
    add("--warmup", type=_whole(0, _LARGEST), default=10, help="executions before the timed ones (default: 10)")
    add("--iter", type=_whole(1, _LARGEST), default=50, help="timed executions (default: 50)")
    add("--min-iter", type=_whole(1, _LARGEST), default=1, help="make so many in spite of the time limit (default: 1)")
    add("--time-limit", type=_seconds, default=0.0, help="stop iterating after so many seconds; 0 is no limit")
    add("--inputs", type=_files, default=(), help="raw files with commas between them, one for each input")
    add("--outputs", default="", help="write the outputs to OUTPUTS-0.bin, OUTPUTS-1.bin, ...")
    found, rest = parser.parse_known_args(argv)
    if rest:
        raise Failure(USAGE, f"unknown argument {rest[0]}")
    if found.model is None:
        raise Failure(USAGE, "the following arguments are required: --model")
    return Arguments(
        model=found.model,
        method=found.method,
        threads=found.threads,
        warmup=found.warmup,
        iterations=found.iter,
        min_iterations=found.min_iter,
        time_limit_s=found.time_limit,
        inputs=found.inputs,
        outputs=found.outputs,
    )


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} to {most}")
        return int(text)

    return parse


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) > _LARGEST:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds from 0 to {_LARGEST}")
    return float(text)


def _files(text: str) -> tuple[Path, ...]:
    names = text.split(",")
    if not all(names):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of files with commas between them")
    return tuple(Path(name) for name in names)


# --- the machine -------------------------------------------------------------------------------------------------


def die_with_parent() -> None:
    """Linux: be killed as soon as the parent is gone, so that a killed harness leaves nothing measuring."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - not needed elsewhere
    import signal  # noqa: PLC0415 - not needed elsewhere

    set_parent_death_signal = 1  # PR_SET_PDEATHSIG, linux/prctl.h
    parent = os.getppid()
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        signal.raise_signal(signal.SIGKILL)


def memory_bytes(name: str) -> int | None:
    """`VmRSS` (resident memory now) or `VmHWM` (its peak) of this process; None where the system does not tell.

    Not `getrusage`: its peak begins with that of the process that started us, whatever its size.
    """
    with contextlib.suppress(OSError):
        found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
        return int(found.group(1)) * 1024 if found else None
    return None


# --- the runtime -------------------------------------------------------------------------------------------------


def load_runtime() -> Runtime:
    """Import the extension itself: the public modules around it import the exporter, some 3 s and 100 MB more."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != here]  # our modules shadow nobody's
    try:
        import torch  # noqa: F401, PLC0415 - the extension needs its libraries; late, so that wrong arguments fail fast

        try:
            from executorch.extension.pybindings import _C as runtime  # noqa: N811, PLC0415 - since 1.5
        except ImportError:
            from executorch.extension.pybindings import _portable_lib as runtime  # noqa: PLC0415 - before 1.5
    except ImportError as error:
        raise Failure(NOT_LOADED, f"the runtime cannot be imported: {error}") from error
    _load_quantized_kernels(Path(runtime.__file__).parents[2])
    loaded: Runtime = runtime
    return loaded


def _load_quantized_kernels(package: Path) -> None:
    """The extension leaves out the kernels of quantised operators that no delegate took; the SDK has them."""
    import ctypes  # noqa: PLC0415 - not needed elsewhere

    suffix = "dylib" if sys.platform == "darwin" else "so"
    library = package / "lib" / f"libexecutorch_kernels_quantized.{suffix}"
    if library.exists():
        ctypes.CDLL(str(library))


@contextlib.contextmanager
def explained(status: int, what: str, log: io.StringIO) -> Iterator[None]:
    """Turn what the runtime raises and logs into a Failure in words."""
    try:
        yield
    except MemoryError as error:
        raise Failure(OUT_OF_MEMORY, f"out of memory: {error}") from error
    except RuntimeError as error:  # every failure of the extension; the number is runtime/core/error.h's
        found = re.search(r"error:? 0x:?([0-9a-f]+)", str(error))
        code = int(found.group(1), 16) if found else None
        said = [re.sub(r"^\[[^]]*\] ", "", line) for line in log.getvalue().splitlines() if line.strip()]
        raise _failure(status, what, code, said, str(error)) from error


_OPERATOR_MISSING, _LACK_OF_MEMORY = 0x14, (0x21, 0x31)


def _failure(status: int, what: str, code: int | None, said: Sequence[str], raised: str) -> Failure:
    detail = said[-1] if said else " ".join(raised.split())
    if code in _LACK_OF_MEMORY or "allocate memory" in raised:
        return Failure(OUT_OF_MEMORY, f"out of memory: {detail}")
    operators = dict.fromkeys(found for line in said for found in re.findall(r"^Missing operator: \[\d+\] (.+)$", line))
    if code == _OPERATOR_MISSING and operators:
        noun = "operators" if len(operators) > 1 else "operator"
        return Failure(status, f"the program needs {noun} {', '.join(operators)}, which this runtime does not have")
    for line in said:
        if missing := re.match(r"Backend (\S+) is not (registered|available)\.$", line):
            here = " on this machine" if missing.group(2) == "available" else ""
            return Failure(
                status, f"the program uses backend {missing.group(1)}, which this runtime does not have{here}"
            )
    return Failure(status, f"{what} ({detail})")


def load_method(runtime: Runtime, arguments: Arguments, log: io.StringIO) -> tuple[Program, Method]:
    """Load program and method. The method does not keep the program alive: keep both.

    Raises:
        Failure: It cannot be loaded.
    """
    check_file(arguments.model, NOT_LOADED)
    unreadable = f"{arguments.model} is not an ExecuTorch program, or is of a version this runtime cannot read"
    with arguments.model.open("rb") as stream:
        identifier = stream.read(8)[4:]
    if not re.fullmatch(rb"ET[0-9A-Z]{2}", identifier):  # checked here: quoting other bytes aborts the extension
        raise Failure(NOT_LOADED, f"{unreadable} (it does not begin like one)")
    with explained(NOT_LOADED, unreadable, log):
        program = runtime._load_program(  # noqa: SLF001 - upstream has no public name that is light to import
            str(arguments.model), program_verification=runtime.Verification.InternalConsistency
        )
    names = [program.get_method_name(index) for index in range(program.num_methods())]
    if arguments.method not in names:
        raise Failure(NOT_LOADED, f"the program has no method {arguments.method}; it has: {', '.join(names)}")
    with explained(NOT_LOADED, f"method {arguments.method} cannot be loaded", log):
        return program, program.load_method(arguments.method)


def check_file(path: Path, status: int) -> None:
    """Raises a Failure when there is no such file."""
    if not path.exists():
        raise Failure(status, f"no such file: {path}")
    if not path.is_file():
        raise Failure(status, f"not a file: {path}")


def make_inputs(meta: MethodMeta, files: Sequence[Path]) -> list[torch.Tensor]:
    """The inputs: from files, or ones.

    Raises:
        Failure: Files do not fit the method, naming file, expected and actual bytes.
    """
    count = meta.num_inputs()
    if files and len(files) != count:
        raise Failure(USAGE, f"argument --inputs: {len(files)} files given; the method has {count} inputs")
    return [_make_input(meta, index, files[index] if files else None) for index in range(count)]


def _make_input(meta: MethodMeta, index: int, file: Path | None) -> torch.Tensor:
    import torch  # noqa: PLC0415 - imported by load_runtime

    try:
        info = meta.input_tensor_meta(index)
    except IndexError as error:
        raise Failure(
            NOT_LOADED, f"input {index} of the method is not a tensor; the runner feeds tensors only"
        ) from error
    # runtime/core/portable_type/scalar_type.h
    dtypes = {
        0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16,
        6: torch.float32, 7: torch.float64, 11: torch.bool, 15: torch.bfloat16, 27: torch.uint16, 28: torch.uint32,
        29: torch.uint64,
    }  # fmt: skip
    dtype = dtypes.get(info.dtype())
    if dtype is None:
        raise Failure(NOT_LOADED, f"input {index} of the method has a type that only the native runner can feed")
    if file is None:
        return torch.ones(info.sizes(), dtype=dtype)
    check_file(file, USAGE)
    content = file.read_bytes()
    if len(content) != info.nbytes():
        raise Failure(USAGE, f"{file} has {len(content)} bytes; input {index} of the method needs {info.nbytes()}")
    return torch.frombuffer(bytearray(content), dtype=dtype).reshape(info.sizes())


def write_outputs(outputs: Sequence[object], base: str) -> None:
    """Write `BASE-0.bin`, `BASE-1.bin`, ...: raw little-endian, in the output's own memory layout.

    Raises:
        Failure: An output is not a tensor, or a file cannot be written.
    """
    import torch  # noqa: PLC0415 - imported by load_runtime

    for index, output in enumerate(outputs):
        if not isinstance(output, torch.Tensor):
            raise Failure(NOT_EXECUTED, f"output {index} is not a tensor and cannot be written")
        file = Path(f"{base}-{index}.bin")
        stored = torch.empty(0, dtype=torch.uint8).set_(output.untyped_storage())
        try:
            file.write_bytes(stored.numpy().tobytes())
        except OSError as error:
            raise Failure(NOT_EXECUTED, f"cannot write {file}") from error


# --- the measured loop -------------------------------------------------------------------------------------------


class Loop:
    """Executes a method again and again, with fresh inputs.

    Args:
        method: What to execute.
        inputs: Its inputs.
        cpu_clock: CPU time in nanoseconds.
    """

    def __init__(self, method: Method, inputs: Sequence[torch.Tensor], cpu_clock: Callable[[], int]) -> None:
        self._method = method
        self._inputs = inputs
        self._cpu_clock = cpu_clock
        meta = method.method_meta()
        # The memory of a planned input is free for intermediate values as soon as the input was last read.
        self._overwritten = any(meta.input_tensor_meta(index).is_memory_planned() for index in range(len(inputs)))
        method.set_inputs(inputs)
        self._fresh = True

    def once(self) -> tuple[int, int]:
        """One execution. Returns wall and CPU nanoseconds."""
        if self._overwritten and not self._fresh:
            self._method.set_inputs(self._inputs)
        self._fresh = False
        execute, wall_clock, cpu_clock = self._method.execute, time.perf_counter_ns, self._cpu_clock
        cpu_begin = cpu_clock()
        begin = wall_clock()
        execute()
        end = wall_clock()
        cpu_end = cpu_clock()
        return end - begin, cpu_end - cpu_begin


def measure(loop: Loop, arguments: Arguments) -> Measurement:
    """Warm up, then measure, within the time limit (see the module's text)."""
    found = Measurement()
    start = time.perf_counter()

    def over(share: float) -> bool:
        return arguments.time_limit_s > 0 and time.perf_counter() - start >= share * arguments.time_limit_s

    while found.warmup_done < arguments.warmup and (found.warmup_done == 0 or not over(0.25)):
        wall_ns, _ = loop.once()
        found.first_iteration_ns = found.first_iteration_ns or wall_ns
        found.warmup_done += 1
    while len(found.wall_ns) < arguments.iterations:
        if len(found.wall_ns) >= arguments.min_iterations and over(1.0):
            found.stopped_by_time_limit = True
            break
        wall_ns, cpu_ns = loop.once()
        found.first_iteration_ns = found.first_iteration_ns or wall_ns
        found.wall_ns.append(wall_ns)
        found.cpu_ns.append(cpu_ns)
    return found


# --- from start to end -------------------------------------------------------------------------------------------


def run(arguments: Arguments, log: io.StringIO) -> list[str]:
    """Measure.

    Returns:
        The observer lines.

    Raises:
        Failure: Something in the way of a number.
    """
    runtime = load_runtime()
    if arguments.threads is not None:  # before loading: delegates keep a pointer to the pool they were given
        runtime._unsafe_reset_threadpool(arguments.threads)  # noqa: SLF001 - upstream has no public name
    threads = runtime._threadpool_get_thread_count()  # noqa: SLF001 - upstream has no public name
    log.truncate(log.seek(0))
    before = memory_bytes("VmRSS")
    begin = time.perf_counter_ns()
    program, method = load_method(runtime, arguments, log)
    load_time_ns = time.perf_counter_ns() - begin
    after = memory_bytes("VmRSS")

    inputs = make_inputs(method.method_meta(), arguments.inputs)
    cpu_clock = time.thread_time_ns if threads == 1 else time.process_time_ns
    gc.collect()
    gc.disable()  # a collection would land inside somebody's iteration
    with explained(NOT_EXECUTED, "the program failed while it was executed", log):
        found = measure(Loop(method, inputs, cpu_clock), arguments)
    peak = memory_bytes("VmHWM")
    if arguments.outputs:
        write_outputs(method.get_outputs(clone_outputs=False), arguments.outputs)
    del method, program  # in this order

    lines = [_number("NET", "latency", "ns", value) for value in found.wall_ns]
    lines += [_number("NET", "cpu_time", "ns", value) for value in found.cpu_ns]
    lines.append(_number("RUN", "load_time", "ns", load_time_ns))
    lines.append(_number("RUN", "first_iteration", "ns", found.first_iteration_ns))
    memory = {"memory_before_load": before, "memory_after_load": after, "peak_memory": peak}
    lines += [_number("RUN", name, "bytes", value) for name, value in memory.items() if value is not None]
    lines.append(_number("RUN", "threads", "", threads))
    lines.append(_number("RUN", "warmup_done", "", found.warmup_done))
    lines.append(_number("RUN", "iterations_done", "", len(found.wall_ns)))
    lines.append(_text("runtime", f"executorch {metadata.version('executorch')} python"))
    if found.stopped_by_time_limit:
        lines.append(_text("stopped_early", "time_limit"))
    return lines


def _number(kind: str, metric: str, unit: str, value: int) -> str:
    return "PyTorchObserver " + json.dumps({"type": kind, "metric": metric, "unit": unit, "value": str(value)})


def _text(metric: str, text: str) -> str:
    return "PyTorchObserver " + json.dumps({"type": "RUN", "metric": metric, "unit": "", "info_string": text})


def main(argv: Sequence[str]) -> int:
    """Run and tell. Returns the exit status."""
    log = io.StringIO()
    try:
        arguments = parse_arguments(argv)
        with contextlib.redirect_stderr(log):  # where the extension sends the runtime's log
            lines = run(arguments, log)
    except Failure as failure:
        sys.stderr.write(log.getvalue())
        print(f"error: {failure}", file=sys.stderr)
        return failure.status
    sys.stderr.write(log.getvalue())
    print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    die_with_parent()
    raise SystemExit(main(sys.argv[1:]))
