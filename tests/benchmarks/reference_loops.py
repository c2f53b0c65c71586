"""The least that measures a model by each framework's own interface: what medians of `harness` are compared with.

`python reference_loops.py FRAMEWORK MODEL WARMUP ITERATIONS` prints the median in nanoseconds, with one thread and all
inputs one. `pytorch_timer` is PyTorch's own tool, `torch.utils.benchmark.Timer`, and takes no ITERATIONS but a second.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from frameworks.telemetry import block_telemetry

Execute = Callable[[], object]


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


def time_loop(execute: Execute, warmup: int, iterations: int) -> float:
    for _ in range(warmup):
        execute()
    times = []
    for _ in range(iterations):
        begin = time.perf_counter_ns()
        execute()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times)


def time_blocks(execute: Execute) -> float:
    from torch.utils.benchmark import Timer  # noqa: PLC0415 - only the framework that is measured is imported

    timer = Timer("execute()", globals={"execute": execute}, num_threads=1)
    return float(timer.blocked_autorange(min_run_time=1.0).median) * 1e9


LOADERS = {
    "onnxruntime": load_onnxruntime,
    "openvino": load_openvino,
    "tflite": load_tflite,
    "pytorch": load_pytorch,
    "pytorch_timer": load_pytorch,
}


if __name__ == "__main__":
    framework, path, warmup_runs, timed_runs = sys.argv[1:]
    function = LOADERS[framework](path)
    if framework == "pytorch_timer":
        print(time_blocks(function))
    else:
        print(time_loop(function, int(warmup_runs), int(timed_runs)))
