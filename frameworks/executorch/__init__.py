"""ExecuTorch: its runners, how they are started and read, and its exporter.

framework.py        the plug-in, which joins the others         options.py      its options
command_line.py     the command line of our runners             notes.py        notes that qualify the numbers
executor_runner.py  upstream's runner and its log               diagnosis.py    findings for `harness doctor`
minibench.py        upstream's Android app                 llama_main.py   upstream's program for language models
llm_report.py       what upstream's LLM runners log
runners/            where a runner comes from: compiled, Python, or given by the user
native/, python/    the two runners: equal arguments, equal output
apple/              the app for iPhones around the native runner, and its protocol in C++
placement.py        where the parts of a program were executed, as that app tells it
exporting/          from a definition and a recipe to a program, in a process of its own
references/         outputs of models before they are lowered
definitions/        models that can be exported                 recipes/        ways to lower them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.executorch.framework import ExecuTorch
    from harness.config.settings import Settings


def create(settings: Settings) -> ExecuTorch:
    """Create the plug-in."""
    from frameworks.executorch.framework import ExecuTorch  # noqa: PLC0415 - listing frameworks imports none of them

    return ExecuTorch(settings)
