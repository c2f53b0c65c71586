"""The runner in Python: measures one ExecuTorch program through the runtime's Python extension.

Run as a folder (`python <this folder> --model ...`). It is the fallback for where no compiler is, takes and prints
exactly what the native runner does, and has a module for each file of `native/`. It imports as little as it can.

What it prints, after the measured part and never during it, one observer line each:

* `NET latency`, ns, for each timed iteration: wall clock around the execution alone.
* `NET cpu_time`, ns, likewise: CPU time of the calling thread where the pool has one thread, of the whole process
  where it has more. It includes the reading of the clocks, about half a microsecond.
* `RUN load_time`, ns: from opening the file to a method with initialised delegates.
* `RUN first_iteration`, ns: the very first execution after loading, whether warm-up or timed.
* `RUN memory_before_load`, `RUN memory_after_load`, `RUN peak_memory`, bytes of resident memory.
* `RUN threads` (as the pool reports), `RUN warmup_done`, `RUN iterations_done`.
* `RUN runtime` and, when the time limit ended it before `--iter`, `RUN stopped_early`: texts.
* With `--operators`, for each operator one line of type `<its name> #<occurrence>`: `latency`, us, a value for each
  timed iteration. An operator is an instruction of the program, or one inside an instruction that calls a delegate;
  what such a call takes beside its operators is `delegate call (rest)`. XNNPACK tells whole microseconds. Where they
  cannot be timed, as in this runner, the text `RUN operators_unavailable` says why.

The time limit covers warm-up and timed iterations together. Warm-up ends after a quarter of it, but not before one
execution, if any was asked for. Timed iterations end when it is over and `--min-iter` of them were made.

With `--turns` it takes turns with another process. After warm-up it prints `ready`; for each line `run N` of standard
input it makes N timed iterations and prints `done N`; at `end`, or at the end of standard input, everything above is
printed. Between turns it does nothing at all. `--iter` and `--min-iter` then mean nothing, and the time limit covers
warm-up alone: whoever asks for iterations knows when to stop.

The native runner has one more argument: `--etdump FILE` traces a few executions after everything was measured, and
writes ExecuTorch's own trace for the Inspector of `executorch.devtools`.

Inputs are raw little-endian files in the input's own memory layout; without `--inputs` every element of every input
is one, as in upstream's `executor_runner` (a one is a valid index, token and mask, which noise is not).

Failures are one sentence, the last line of standard error; the exit status is one of `failure.ExitStatus`.
"""
