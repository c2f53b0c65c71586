"""ExecuTorch: its runners, how they are started and read, and its exporter.

framework.py        the plug-in; joins all of this
command_line.py     a benchmark as the runner's arguments       judgement.py    what a reader of the numbers must know
executor_runner.py  upstream's own runner, read from its log    diagnosis.py    what `harness doctor` is told
runners/            where a runner comes from: compiled, Python, or given by the user
native/, python/    the two runners, file by file the same
exporting/          from a definition and a recipe to a program, in a process of its own
definitions/        models that can be exported; add a function or a file
recipes/            ways to lower them; add a file
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.executorch.framework import ExecuTorch
    from harness.config.settings import Settings


def create(settings: Settings) -> ExecuTorch:
    """The plug-in's entry point."""
    from frameworks.executorch.framework import ExecuTorch  # noqa: PLC0415 - listing frameworks imports none of them

    return ExecuTorch(settings)
