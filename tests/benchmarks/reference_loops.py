"""The least that measures a model by each framework's own interface: what medians of `harness` are compared with.

`python reference_loops.py FRAMEWORK MODEL ITERATIONS` loads the model twice, for our runner's loop and for a bare one,
lets them take turns in random order, and prints the median of each in nanoseconds: one thread, all inputs one.
`python reference_loops.py timer MODEL` prints that of PyTorch's own tool, `torch.utils.benchmark.Timer`.
"""

from __future__ import annotations

import importlib
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from frameworks.python_runner.clocks import Clocks
from frameworks.python_runner.engine import ImportsRuntime, LoadRequest
from frameworks.python_runner.measure import Execution
from frameworks.telemetry import block_telemetry

Execute = Callable[[], object]
TURN = 10
"""Iterations of a turn."""


def unpacked(model: str) -> str:
    """Return the model as other programs read it: OpenVINO's archive is unpacked."""
    if not model.endswith(".ov"):
        return model
    folder = mkdtemp()
    line = (sys.executable, "-m", "frameworks.openvino.archive", model, folder)
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return str(next(Path(folder).rglob("*.xml")))


def load_onnxruntime(model: str) -> Execute:
    import onnxruntime  # noqa: PLC0415 - only the framework that is measured is imported

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for given in session.get_inputs():
        binding.bind_cpu_input(given.name, np.ones(given.shape, np.float32))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def load_openvino(model: str) -> Execute:
    block_telemetry()
    import openvino  # noqa: PLC0415 - likewise

    properties = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    request = openvino.Core().compile_model(model, "CPU", properties).create_infer_request()
    for tensor in request.input_tensors:
        tensor.data[:] = 1
    infer: Execute = request.infer
    return infer


def load_tflite(model: str) -> Execute:
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415 - likewise

    interpreter = Interpreter(model_path=model, num_threads=1)
    interpreter.allocate_tensors()
    for given in interpreter.get_input_details():
        interpreter.set_tensor(given["index"], np.ones(given["shape"], given["dtype"]))
    invoke: Execute = interpreter.invoke
    return invoke


def load_pytorch(model: str) -> Execute:
    import torch  # noqa: PLC0415 - likewise

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    program = torch.export.load(model)
    assert program.example_inputs is not None
    inputs = tuple(torch.ones_like(given) for given in program.example_inputs[0])
    module = program.module(check_guards=False)
    return lambda: module(*inputs)


def time_beside(framework: str, model: str, iterations: int) -> tuple[float, float]:
    """Return the medians of our loop and of a bare one, which take turns of ten iterations."""
    engine = importlib.import_module(ENGINES[framework]).ENGINE
    request = LoadRequest(Path(model), threads=1, options=OPTIONS.get(framework, {}))
    if isinstance(engine, ImportsRuntime):
        engine.import_runtime(request)
    loaded = engine.load(request)
    inputs = [np.ones(each.shape, each.dtype).tobytes() for each in loaded.inputs]
    loop = Execution(loaded, inputs, Clocks(time.perf_counter_ns, time.process_time_ns))
    execute = LOADERS[framework](unpacked(model))

    def time_ours() -> int:
        loop.prepare()
        return loop.iterate()[0]

    def time_bare() -> int:
        begin = time.perf_counter_ns()
        execute()
        return time.perf_counter_ns() - begin

    times: dict[Callable[[], int], list[int]] = {time_ours: [], time_bare: []}
    for turn in range(max(2, iterations // TURN) + 1):
        for time_once in random.sample(list(times), 2):
            taken = [time_once() for _ in range(TURN)]
            times[time_once] += taken if turn else []  # the first turn warms up
    return statistics.median(times[time_ours]), statistics.median(times[time_bare])


def time_blocks(execute: Execute) -> float:
    from torch.utils.benchmark import Timer  # noqa: PLC0415 - only the framework that is measured is imported

    timer = Timer("execute()", globals={"execute": execute}, num_threads=1)
    return float(timer.blocked_autorange(min_run_time=1.0).median) * 1e9


LOADERS = {
    "onnxruntime": load_onnxruntime,
    "openvino": load_openvino,
    "tflite": load_tflite,
    "pytorch": load_pytorch,
}
ENGINES = {
    "onnxruntime": "frameworks.onnxruntime.engine",
    "openvino": "frameworks.openvino.engine",
    "tflite": "frameworks.tflite.runner.engine",
    "pytorch": "frameworks.pytorch.engine",
}
OPTIONS = {"openvino": {"hint": "none"}}


if __name__ == "__main__":
    if sys.argv[1] == "timer":
        print(time_blocks(load_pytorch(sys.argv[2])))
    else:
        print(*time_beside(sys.argv[1], sys.argv[2], int(sys.argv[3])))
