"""Options of the framework `executorch`. Imports nothing heavy: `harness --help` shows them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from harness.config.options import Option

LLM: Final = "llm"
"""Choice of ExecuTorch's own runner for language models, and the recipe of its builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuTorchOptions:
    """Options of the runner of ExecuTorch."""

    heading: ClassVar[str] = "With ExecuTorch"

    runner: Annotated[
        Literal["auto", "native", "python", "llm"],
        Option(
            "Kind of runner; `auto` is native where a compiler is there, `llm` ExecuTorch's own for language models.",
            value="KIND",
        ),
    ] = "auto"
