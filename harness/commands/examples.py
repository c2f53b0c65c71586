"""Examples at the end of each command's `--help`. They need an installed harness and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

GENERAL: Final = (
    ("harness mv2", "measure a built-in model, and show a table"),
    ("harness my.json", "measure a specification of your own"),
    ("harness list", "what is built in: models, lists, recipes, platforms, ..."),
    ("harness run --help", "every flag of a measurement (`run` may be left out)"),
)
"""Examples of `harness --help`."""

_EXIT_CODES: Final = (
    ("  0  nothing failed", "3  a device, build or disk failed"),
    ("  1  slower, or worse", "4  a benchmark failed"),
    ("  2  mistake in command or file", "5  undecided"),
    ("130  interrupted", ""),
)

OF_COMMANDS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "run": (
        ("harness mv2 --only '*q8*'", "a part of a built-in model"),
        ("harness run my.json -p android -d all", "your own, on every phone"),
        ("harness mv2 --reporter html=mv2.html", "with a page"),
        ("harness mv2 --dry-run", "show the plan and stop"),
    ),
    "evaluate": (
        ("harness evaluate mv2", "fidelity of each recipe, with its speed"),
        ("harness evaluate digits -p android", "accuracy on a phone"),
        ("harness evaluate my.json --layers", "the gap of each layer, too"),
    ),
    "compare": (
        ("harness compare mv2 --source releases:executorch --control 1.5.0", "a release with the newest one"),
        ("harness compare mv2 --repo-dir executorch --control main --treatment my-branch", "two commits"),
        ("harness compare my.json --control-program old --treatment-program new", "two programs"),
    ),
    "rank": (
        ("harness rank mobilenets", "three models on every framework"),
        ("harness rank mobilenets --only model:mv2_frameworks --reporter html=mv2.html", "one of them, with a page"),
        ("harness rank my.json --margin 0.05 --seconds 600", "coarser, and at most ten minutes"),
    ),
    "watch": (
        ("harness watch nightly --repo-dir executorch --branch main", "compare what is new, and exit"),
        ("harness watch nightly --repo-dir executorch --interval 3600", "poll every hour"),
        ("harness watch nightly --hook '$SLACK_HOOK' --test-hook", "try where alarms are sent"),
    ),
    "bisect": (
        ("harness bisect mv2 --repo-dir executorch --good v1.4.1 --bad main", "search between two commits"),
        ("harness bisect mv2 --source releases:executorch --good 1.4.0 --bad 1.5.1", "between two releases"),
    ),
    "profile": (
        ("harness profile mv2 --only '*q8*'", "kinds of operators by time"),
        ("harness profile mv2 -v --export operators.csv", "each with module and line"),
        ("harness profile mv2 --reporter html=mv2.html", "with a picture of modules"),
    ),
    "self-check": (
        ("harness self-check", "five minutes, needs no torch"),
        ("harness self-check mv2 --minutes 10", "with a model, and more time"),
    ),
    "history": (
        ("harness history", "all results, as pages in `history`"),
        ("harness history nightly --output public", "those of a folder"),
        ("harness history --database lab.db", "those of a database"),
    ),
    "list": (
        ("harness list", "everything that can be named"),
        ("harness list recipes", "one section"),
        ("harness list --json", "for programs"),
    ),
    "completion": (
        ("harness completion bash > ~/.harness-completion", "source it in ~/.bashrc"),
        ("harness completion zsh > ~/.zfunc/_harness", "a folder of fpath, before compinit"),
        ("harness completion fish > ~/.config/fish/completions/harness.fish", "where fish looks"),
    ),
    "status": (
        ("harness status", "state of the watcher of these results"),
        ("harness status --state watch.db --json", "another one, for programs"),
    ),
    "alarms": (
        ("harness alarms", "those that are open"),
        ("harness alarms close 3f2a --reason 'slower on purpose'", "close one, or all of a commit"),
    ),
    "builds": (
        ("harness builds", "every runner that was built"),
        ("harness builds prune --keep-mib 2000", "keep the most recently used ones"),
    ),
    "devices": (
        ("harness devices", "this machine and the phones"),
        ("harness devices -p android --json", "phones only, for programs"),
    ),
    "serve": (
        ("harness serve", "for this machine alone"),
        ("harness serve --host 0.0.0.0", "for others, who need a token"),
        ("harness serve --database postgresql://lab/results --port 80", "a database of its own"),
    ),
    "lab": (
        ("harness lab serve --results 8080", "for this machine alone"),
        ("harness lab join 127.0.0.1", "join the phones of this machine"),
        ("harness lab join lab --check-every 24 --certificates keys", "those of a farm"),
        ("harness lab status 127.0.0.1", "show the devices, and what they do"),
        ("harness lab withdraw lab pixel-3 --reason 'its battery swells'", "until it is returned"),
        ("harness lab return lab pixel-3", "its battery is new"),
        ("harness lab check lab pixel-3", "is it as good as it was?"),
        ("harness lab dispatch lab --requests-from http://lab --specifications mv2", "runs on demand"),
        ("harness lab certificate lab --certificates authority", "for a lab of several machines"),
    ),
    "token": (
        ("harness token create ci --scope write --expires 90d", "printed once"),
        ("harness token list", "all, with their last use"),
        ("harness token revoke ci", "refused from now on"),
    ),
    "doctor": (("harness doctor", "what is installed, what is missing, and how to get it"),),
    "export": (
        ("harness export mv2 --recipe xnnpack_q8 -o mv2_q8.pte", "a definition, lowered by a recipe"),
        ("harness export my.json -o exported", "all models of a specification"),
    ),
    "import": (
        ("harness import benchmark_results.json", "of ExecuTorch's app for Android"),
        ("harness import - --format llama_bench", "from a pipe"),
        ("harness import Customer_Artifacts.zip --device 'Pixel 9'", "of a device farm, with a name"),
    ),
    "init": (("harness init", "answer a few questions at a terminal"),),
    "report": (
        ("harness report", "the latest results"),
        ("harness report LAST -v", "the last run again, in full"),
        ("harness report results/vm", "those in a folder again"),
        ("harness report --against LAST", "what differs from the run before"),
        ("harness report --only '*q8*' --since 2d", "a selection"),
        ("harness report LAST --reporter html=page.html", "as a page"),
        ("harness report --export results.csv", "as a table"),
        ("harness report --flush", "send what could not be delivered"),
    ),
    "store": (
        ("harness store --database results.db", "what is in it"),
        ("harness store import --database results.db", "all results of this machine"),
        ("harness store import lab1 lab2 --database results.db", "those of folders"),
        ("harness store export results.jsonl", "everything, as it was measured"),
        ("harness store prune --older-than 90d", "what would go; add --yes"),
        ("harness store prune --older-than 30d --kind logs --yes", "logs alone"),
        ("harness store check", "whether everything is whole"),
    ),
    "query": (
        ("harness query --database results.db", "the newest results"),
        ("harness query --model mv2 --since 7d", "a selection"),
        ("harness query --failed", "what has no numbers, and why"),
        ("harness query --export results.parquet", "all metrics as a table"),
    ),
    "schema": (("harness schema > specification.schema.json", "for an editor"),),
    "validate": (
        ("harness validate my.json", "all problems of a file at once"),
        ("harness validate specifications", "every file in a folder"),
    ),
}
"""Examples of each command."""


def format_examples(examples: Sequence[tuple[str, str]]) -> str:
    """Return the end of a help text: each example, and what it is for below it where it is long.

    A command that is wider than the terminal is broken as a shell reads it.
    """
    short = [command for command, _ in examples if len(command) <= _SHORT]
    width, columns = max(map(len, short), default=0), shutil.get_terminal_size().columns
    lines: list[str] = []
    for command, purpose in examples:
        if len(command) <= _SHORT and width + len(purpose) + 4 <= columns:
            lines.append(f"  {command:<{width}}  {purpose}")
        else:
            lines.append(f"  {_join(_split(command), columns, _CONTINUED)}")
            lines.append(f"      {_join(purpose.split(), columns)}")
    return "Examples:\n" + "\n".join(lines)


def format_exit_codes() -> str:
    """Return the exit codes, in two columns where the terminal has room for them."""
    left, right = zip(*_EXIT_CODES, strict=True)
    if max(len(text) for text in right) + 40 <= shutil.get_terminal_size().columns:
        lines = [f"{one:<36}{other}".rstrip() for one, other in _EXIT_CODES]
    else:
        lines = [*left[:-1], *(f"  {text}" for text in right if text), left[-1]]
    return "Exit codes:\n" + "\n".join(f"  {line}" for line in lines)


def _split(command: str) -> list[str]:
    """Return the words of a command line, with what they have in quotes."""
    words: list[str] = []
    for piece in command.split(" "):
        if words and any(words[-1].count(quote) % 2 for quote in ("'", '"')):
            words[-1] += f" {piece}"
        else:
            words.append(piece)
    return words


def _join(words: Iterable[str], columns: int, ending: str = "") -> str:
    """Join words to lines, of which the further ones begin below the third column."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 9 > columns:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return f"{ending}\n      ".join(lines)


_SHORT: Final = 44
"""Characters of an example that leave room for its purpose on the same line."""

_CONTINUED: Final = " \\"
"""What a shell joins a line to the next one by."""
