"""llama.cpp as a framework: language models in GGUF files, measured by its own programs.

framework      the plug-in
command_line   the command line of llama-bench for a benchmark without commands, with a `generation` or not
options        the options of a benchmark that llama-bench takes: sizes of prompt and generation, batches, caches
bench_output   figures of llama-bench, in every layout that it prints
timings        figures of llama-cli, llama-completion and llama-server: timings of a run, and of each token
"""

from __future__ import annotations

from frameworks.llama_cpp.framework import LlamaCpp
from harness.config.settings import Settings


def create(settings: Settings) -> LlamaCpp:
    """Make the framework, as the entry point of the plug-in."""
    return LlamaCpp(settings.program)
