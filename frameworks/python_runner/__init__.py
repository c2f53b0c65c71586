"""Runner in Python: measures one model through the engine of a framework (`engine.Engine`).

Run as a folder (`python <this folder> package.module:ENGINE --model ...`). Its arguments and output are those of the
native runner of ExecuTorch, whose files its modules correspond to. It needs the standard library alone, and imports as
little as possible.

It prints these observer lines, all of them after the measured part:

* `NET latency`, ns, for each timed iteration: wall clock around the execution alone.
* `NET cpu_time`, ns, likewise: CPU time of the calling thread where the runtime tells that its pool has one thread, of
  the whole process otherwise. It includes the reading of the clocks, about half a microsecond, and of the clock of the
  whole process a few microseconds (with 64 threads 30); what threads spin between two iterations belongs to neither.
* `RUN load_time`, ns: from opening the file to a method with initialised delegates.
* `RUN first_iteration`, ns: the very first execution after loading, whether warm-up or timed.
* `RUN memory_before_load`, `RUN memory_after_load`, `RUN peak_memory`, bytes of resident memory.
* `RUN threads`, as the runtime tells its number, and never because it was asked for; `RUN threads_observed`, those that
  used CPU time while it iterated; `RUN warmup_done`, `RUN iterations_done`.
* `RUN runtime` and, when the time limit ended it before `--iter`, `RUN stopped_early`: texts.
* With `--operators`, for each operator one line of type `<its name> #<occurrence>`: `latency`, us, a value for each
  timed iteration. An operator is an instruction of the program, or one inside an instruction that calls a delegate;
  the rest of such a call is `delegate call (rest)`. XNNPACK reports whole microseconds. Then the text
  `RUN operator_places`, with a word for each of them in the same order: the number of its instruction; inside a
  delegate `.` and its number in that call, and `=` with the delegate's own identifier where it has one; or `?` where
  it differs between iterations. Where operators cannot be timed, as in this runner, the text
  `RUN operators_unavailable` gives the reason.

The time limit covers warm-up and timed iterations together. Warm-up ends after a quarter of it, but not before one
execution, if any was requested. Timed iterations end when it is over and `--min-iter` of them were made.

With `--turns` it is interleaved with another process. After warm-up it prints `ready`; for each line `run N` of
standard input it makes N timed iterations and prints `done N`; at `end`, or at the end of standard input, everything
above is printed. In between it does nothing at all. For `run N by K` it also prints `paused` after the first token of a
generation and after every K further ones, and waits for the line `go on`; stamps of tokens do not count that time. For
`run N by K after R` it processes the prompt R times before each generation, each time until its first token, and pauses
after each; the line of the generation then has `earlier_prefills_ns` and `earlier_first_tokens_ns`, their stamps.
`--iter` and `--min-iter` are ignored, and the time limit covers only the warm-up: the other process decides when to
stop. With `--own-time` too, both work at once on one CPU: wall clock times, also those of tokens, leave out when the
thread could have run and waited for the CPU (`run_delay` of Linux). It needs a runtime with one thread.

For each delegate of OpenVINO the texts `RUN openvino_device` and `RUN openvino_precision` and the number
`RUN openvino_threads` tell what OpenVINO says of it, and `RUN openvino` is the version of the library. OpenVINO has
threads of its own, so CPU time is then that of the whole process. This runner tells only that OpenVINO was there, by
the precision `unknown`.

The native runner has two more arguments. `--etdump FILE` traces a few executions after everything was measured, and
writes ExecuTorch's own trace for the Inspector of `executorch.devtools`. `--openvino-precision f32|bf16` is the
precision in which OpenVINO computes; where it does not obey, or there is no such delegate, the run fails. It also gives
OpenVINO the number of `--threads`.

Inputs are raw little-endian files in the input's own memory layout; without `--inputs` every element of every input
is one, as in upstream's `executor_runner` (a one is a valid index, token and mask, which noise is not).

With `--phases`, and with `--cold`, it executes once, without warm-up, and `--warmup`, `--iter` and `--min-iter` are
ignored. `--phases` prints for each phase, in bytes:

* `RUN memory_after_program_load` and `RUN memory_after_first_execution`: resident memory, beside that before and after
  loading, which every launch prints.
* `RUN proportional_memory_before_load`, `..._after_program_load`, `..._after_load`, `..._after_first_execution`: the
  same with pages that other processes map too counted by share.
* `RUN peak_memory_in_program_load`, `RUN peak_memory_in_method_load`, `RUN peak_memory_in_first_execution`: the peak of
  resident memory in each phase; where the system does not let a process reset its peak, the text
  `RUN peak_memory_unavailable` instead.
* `RUN planned_memory`: the buffers for inputs, outputs and intermediate values that the memory plan of the method has;
  `RUN planned_memory_0`, ... where there are several.

`--cold` drops the program's file from the page cache of the kernel before loading, looks whether it is gone, and prints
`RUN cold_load_time`, `RUN cold_program_load_time` (the part of it until the program, without its method, was loaded)
and `RUN cold_first_iteration`, in ns, instead of `RUN load_time` and `RUN first_iteration`; or none of them and the
text `RUN cold_load_unavailable`, where the file stayed there.

With `--arrival periodic:SECONDS`, or `poisson:SECONDS:SEED` for random intervals of that mean, an iteration begins when
it is due, or after the one before it where that is later; in between the runner sleeps. The first is due when the
warm-up, which is back to back, has ended. It also prints `NET start_time`, ns since the loop began, and
`NET response_time`, ns from when an iteration was due until it ended, for each timed iteration.

With `--sustained SECONDS` iterations go on until that time is over; `--iter`, `--min-iter` and the time limit are
ignored but for the warm-up. `NET start_time` is printed then too; of a generation `NET decode_rate`, in tokens/s, and
its `NET latency` instead of the stamps of its tokens. At most 100,000 iterations are kept, evenly; the number
`RUN samples_thinned` tells that only every so many-th was.

With `--examples N` nothing is measured. Each file of `--inputs` has one input of N examples, each file of outputs one
output of them, one after the other: raw little-endian numbers in row-major order, whatever the layout of the program's
own tensor. Examples are read, executed once and written one at a time; a program with state of its own meets them in
this order. Then these lines are printed:

* `RUN output_0`, `RUN output_1`, ...: texts such as `float32 [1, 1000] dim_order [0, 1]`, of one example. `dim_order`
  is the layout that the tensor had in memory.
* `RUN peak_memory`, `RUN examples_done`, `RUN threads`, `RUN runtime`, and those of OpenVINO.

An output that is no tensor, or whose type or shape differs between examples, is a failure.

With `--generate N` an iteration is one generation from an empty context: `--depth` made-up tokens are processed without
being timed, then the prompt, then N new tokens follow one by one, always the likeliest; no token ends it early. The
prompt is `--prompt FILE`, raw little-endian int64 tokens, or `--prompt-tokens N` made-up ones: pseudo-random, the same
in every runner (`made_up`). The program is one of ExecuTorch's exports of language models: its method takes tokens
[1, S], S dynamic or 1, and the position of the first of them [1], int64 or int32, keeps what it computed of tokens
before, and gives logits [1, V] or [1, S, V], float32, float16 or bfloat16. Its methods `get_max_context_len` or
`get_max_seq_len`, `get_vocab_size` and `use_kv_cache` are read, where it has them. A prompt goes in as few executions
as S allows. Instead of `NET latency` these lines are printed:

* For each timed generation `{"generation": {"prompt_tokens": 128, "depth": 0, "prefill_ns": 7500000, "token_times_ns":
  [7510000, 7930000], "tokens": [5, 77]}}`: times since the prompt was handed over, `prefill_ns` when its last execution
  returned, a token is there when it was chosen; of `tokens` the first 4,096. At most 2^20 time stamps are kept: when
  there are more, every second generation is dropped, and `RUN generations_thinned` tells that only every 2nd, 4th, ...
  is there.
* `LLM perplexity` with `--perplexity FILE`, the tokens of a text, computed after everything was timed: each token is
  predicted from those before, in pieces as long as the context.
* `RUN memory_after_prefill`, bytes, in the first warm-up generation.

`NET cpu_time` and `RUN first_iteration` are of whole generations. `--outputs BASE` writes the new tokens of the last
one to BASE-0.bin, raw int64.

Failures are one sentence, the last line of standard error; the exit status is one of `failure.ExitStatus`.
"""
