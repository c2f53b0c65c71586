"""Files of foreign formats as they are kept beside the tests, and the results that they are made of.

`python -m tests.reporters.exports.exported` writes them anew: look at the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness import __version__
from harness.core.device import ELSEWHERE
from harness.core.metric import Direction
from harness.core.origin import Origin
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.testing.results import DEVICE, failed_result, ok_result, timing
from reporters import bencher, github_action_benchmark, openmetrics, pytorch_v3
from reporters.exports.reporter import ExportedRun

FOLDER: Final = Path(__file__).parent / "golden"

RENDERERS: Final[Mapping[str, Callable[[Sequence[Result]], ExportedRun]]] = {
    "bencher": bencher.render,
    "github_action_benchmark": github_action_benchmark.render,
    "openmetrics": openmetrics.render,
    "pytorch_v3": pytorch_v3.render,
}
FILES: Final = {
    "bencher": ("bencher.json",),
    "github_action_benchmark": ("github-smaller.json", "github-bigger.json"),
    "openmetrics": ("openmetrics.prom",),
    "pytorch_v3": ("pytorch-v3.json",),
}


def measured_elsewhere() -> Result:
    """Return a result that another tool measured."""
    origin = Origin(format="llama_bench", file="bench.json", digest="c" * 64, count=3)
    device = DEVICE.model_copy(update={"platform": ELSEWHERE, "identity": f"{ELSEWHERE}:Pixel 9", "name": "Pixel 9"})
    rate = timing("LLM", "decode_rate", "tokens/s", (6.5, 6.25, 6.0)).model_copy(update={"direction": Direction.HIGHER})
    result = ok_result(uid="elsewhere", model="llama", identifier="llama-q4", device=device, build=None)
    return result.model_copy(update={"origin": origin, "metrics": (rate,)})


def exported_results() -> list[Result]:
    """Return results of every kind: measured, failed in three ways, skipped, and measured elsewhere."""
    return [
        ok_result(uid="ok"),
        ok_result(uid="slow", identifier="mv2-portable_fp32-t1", samples=(81.5, 82.25, 80.75, 81.0)),
        failed_result(uid="crash", identifier="mv2-xnnpack_q8-t1"),
        failed_result(Outcome.TIMEOUT, uid="timeout", identifier="mv2-vulkan-t1", reason="took more than 60 s"),
        failed_result(Outcome.FAILED, uid="build", identifier="mv2-qnn-t1", reason="does not build", build=None),
        failed_result(Outcome.SKIPPED, uid="skip", identifier="mv2-coreml-t1", reason="needs an Apple device"),
        measured_elsewhere(),
    ]


def current() -> dict[str, str]:
    """Text by file name, with the version left out."""
    texts: dict[str, str] = {}
    for name, render in RENDERERS.items():
        texts |= dict(zip(FILES[name], render(exported_results()).texts, strict=True))
    return {name: text.replace(__version__, "VERSION") for name, text in texts.items()}


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in current().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
