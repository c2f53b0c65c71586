"""Ends of the scripts that complete commands and flags in a shell, behind what cyclopts writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_TAKE_SPECIFICATIONS: Final = "run|evaluate|compare|rank|watch|bisect|profile|self-check|validate|export"
_NAME_SPECIFICATIONS: Final = "-b|--benchmark-file"

_BASH: Final = """
# `harness mv2` is short for `harness run mv2`. Specifications are completed by name, and files where nothing else fits.
_harness_entry() {
  local cur="${COMP_WORDS[COMP_CWORD]}" first="${COMP_WORDS[1]}"
  if (( COMP_CWORD > 1 )) && [[ "$first" != -* && ' @COMMANDS@ ' != *" $first "* ]]; then
    COMP_WORDS=("${COMP_WORDS[0]}" run "${COMP_WORDS[@]:1}")
    COMP_CWORD=$((COMP_CWORD + 1))
  fi
  _harness
  local named='' prev="${COMP_WORDS[COMP_CWORD-1]}"
  if (( COMP_CWORD == 1 )); then
    named=1
  else
    case "${COMP_WORDS[1]}" in
      @TAKING@) [[ "$prev" == -* ]] || named=1 ;;
    esac
    case "$prev" in
      @NAMING@) named=1 ;;
    esac
  fi
  if [[ -n "$named" && "$cur" != -* ]]; then
    local word
    for word in @NAMES@; do
      [[ "$word" == "$cur"* ]] && COMPREPLY+=("$word")
    done
  fi
}
complete -o default -F _harness_entry harness
"""

ZSH: Final = """
# As the file `_harness` in a folder of fpath this is the body of a function, and must call the one above; elsewhere
# (`source`, `eval`) that is registered.
case ${funcstack[1]} in
  _harness|_cyclopts_harness) _cyclopts_harness "$@" ;;
  *) compdef _cyclopts_harness harness ;;
esac
"""
"""For zsh: what cyclopts writes defines a function that nothing calls."""


def bash_entry(commands: Iterable[str], specifications: Iterable[str]) -> str:
    """Return the end of the script for bash.

    Args:
        commands: Names of all commands.
        specifications: Names of the built-in specifications.
    """
    parts = {
        "@COMMANDS@": " ".join(commands),
        "@TAKING@": _TAKE_SPECIFICATIONS,
        "@NAMING@": _NAME_SPECIFICATIONS,
        "@NAMES@": " ".join(specifications),
    }
    text = _BASH
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text
