"""Every command line in the README and the documentation is one that the harness takes, and every command is told."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.config.arguments import (
    insert_default_command,
    normalise_flags,
    reject_unsupported_flags,
)
from tests.command_line import COMMANDS, GROUPS, arguments_of, command_of
from tests.docs.pages import DOCS, ROOT

EXAMPLES = sorted(path for path in (DOCS / "examples").iterdir() if path.is_file())
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *EXAMPLES]
TARGETS = set(re.findall(r"^([a-z0-9]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))

_INDENTED = re.compile(r"^(?: {4,}|[^#`\n|]*/bin/)(harness(?: +[^\n]*)?)$")
_TYPED = re.compile(r"^(?:\$ |.*/bin/)?(harness(?: +[^\n]*)?)$")
_INLINE = re.compile(r"`(harness(?: [^`]*)?)`")


def lines_of(text: str) -> Iterator[str]:
    """What is typed: in blocks of commands, indented, or in a sentence."""
    block = ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            block = "" if block else line.removeprefix("```").split(" ")[0] or "plain"
        elif match := (_TYPED if block else _INDENTED).match(line) if block in {"", "sh", "text", "console"} else None:
            yield match[1]
        if not block:
            yield from _INLINE.findall(line)


def words_of(line: str) -> list[str]:
    """Its words behind `harness`, without what stands for something else: `...`, and a choice in brackets."""
    typed = re.sub(r"\[[^]]*\]|(?<=\s)\.\.\.(?=\s|$)|…", "", line)
    return shlex.split(typed, comments=True)[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_of_a_page_is_accepted(page: Path) -> None:
    for line in lines_of(page.read_text(encoding="utf-8")):
        words = words_of(line)
        complete = insert_default_command(normalise_flags(words), COMMANDS, GROUPS)
        reject_unsupported_flags(complete)
        if not complete or complete[0].startswith("-"):
            continue  # the name alone, its help or its version
        assert complete[0] in COMMANDS, line
        _expect_flags_of(complete, line)


def _expect_flags_of(words: list[str], line: str) -> None:
    """Each flag is one of the command's; a sentence need not say all that a command asks for."""
    if words[0] in GROUPS and set(words[1:]) <= {"...", "--help"}:
        return
    known = {name for argument in arguments_of(command_of(words)) for name in argument.names}
    flags = (word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-zA-Z]", word))
    used = {flag.replace("_", "-") for flag in flags}
    assert used - {"--help", "-h", "--version"} <= known, line


def test_every_command_is_documented() -> None:
    documented = {
        words[0] for page in PAGES for line in lines_of(page.read_text(encoding="utf-8")) if (words := words_of(line))
    }
    assert documented >= COMMANDS


def test_every_documented_target_exists_in_the_makefile() -> None:
    texts = [page.read_text(encoding="utf-8") for page in (*PAGES, ROOT / ".ci" / "run")]
    documented = {
        name for text in texts for name in re.findall(r"(?:^|`)make ([a-z0-9]+)(?=`|$|\s+#)", text, re.MULTILINE)
    }
    assert {"mv2", "test", "check", "benchmark"} <= documented <= TARGETS


PAGE = """
```sh
harness report  # the latest
harness compare -b x.json \\
  --pairs 3
```
In `harness doctor` and
harness bets, says

    harness devices

```text
$ harness validate a.json
harness: 3 problems
```
```python
harness export x
```
"""


def test_the_search_for_command_lines_finds_them() -> None:
    assert [words_of(line) for line in lines_of(PAGE)] == [
        ["report"],
        ["compare", "-b", "x.json", "--pairs", "3"],
        ["doctor"],
        ["devices"],
        ["validate", "a.json"],
    ]
