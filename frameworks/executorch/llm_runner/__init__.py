"""ExecuTorch's own LLM runner, `TextLLMRunner` of its Python package, as a program that is measured.

`python <this folder> --model FILE --tokenizer FILE --prompt-text TEXT --generate N [--warmup N] [--iter N]
[--min-iter N] [--time-limit SECONDS] [--threads N]`. It makes tokens of the prompt itself, takes the likeliest, and
prints:

* for each timed generation a line `{"generation": ...}` with the time of each token, as its callback told them. The
  times begin before the prompt is made tokens, and there is no time of the prompt: rates of prefill count until the
  first token. The runner's own statistics have whole milliseconds.
* `RUN load_time`, ns: the program and its method, by the runner's statistics, in whole milliseconds.
* `RUN tokenizer_load_time`, ns: making the runner, which loads the tokenizer and reads the program's constants.
* what every runner prints: memory, threads, iterations and the version.

A token at which the model ends its answer ends a generation early, as there is no way to ignore it: it has fewer
tokens, and the text `RUN ended_early` says so.

__main__      the program
arguments     its command line
command_line  the same, composed for a benchmark
text_runner   the extension module of the package, and one generation of it
"""
