"""Scripts that complete a command line in a shell: one table of all words, and for each shell functions that read it.

A row of the table is `COMMANDS|NAMES|VALUES|DESCRIPTION`, the first three of which are lists separated by spaces:

- `/|run|COMMAND|Measure ...` is a command. `/` stands for a command line that names none yet, `lab/serve` for a command
  below another, and `*` for every command.
- `run / compare|-p --platform|android host|Kind of device` is a flag, with what may follow: words, `FILE` for a path,
  `VALUE` for anything else, or nothing if it is a switch.
- `run / compare|*|mv2 sort FILE|` is an argument, at a place (`1`, `2`, ...) or at all further ones (`*`).
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from harness import plugins
from harness.config.built_in import find_specifications
from harness.flows.inspect.stored_results import LAST

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

Shell = Literal["bash", "zsh", "fish"]

_ROOT: Final = "/"
_DEFAULT: Final = "run"
"""Command that a command line means which names none: `harness mv2` is short for `harness run mv2`."""
_EVERY_COMMAND: Final = ("*|--help -h||Display this message and exit.", "*|--version -V||Display application version.")
_PATHS: Final = ("FILE", "FOLDER", "PATH", "PROGRAM", "SPEC")
"""Parts of the names of values that may be paths although they are texts, such as `SPEC...` and `LAST|FOLDER`."""
_DESCRIPTION_WIDTH: Final = 80

_BASH_AND_ZSH: Final = r"""
# Set `names`, `values` and `description` from a row, if it is one of a command.
_harness_split() {
  local commands="${1%%|*}"
  [[ "$commands" == '*' || " $commands " == *" $2 "* ]] || return
  names="${1#*|}"
  values="${names#*|}"
  description="${values#*|}"
  names="${names%%|*}"
  values="${values%%|*}"
}

# Set `values` to what follows a name in the rows of a command.
_harness_find() {
  local names description row
  for row in "${_harness_table[@]}"; do
    _harness_split "$row" "$1" && [[ " $names " == *" $2 "* ]] && return
  done
  values=''
  return 1
}

# Add the names of a command's flags to `offers`, or those of the commands below it.
_harness_add_names() {
  local names values description row name
  for row in "${_harness_table[@]}"; do
    _harness_split "$row" "$1" || continue
    if [[ "$2" == -* ]]; then [[ "$names" == -* ]] || continue; else [[ "$values" == COMMAND ]] || continue; fi
    for name in $names; do offers+=("$name|$description"); done
  done
}

# Set `offers` to the words that may stand behind others, and `files` if a path may. The word begun comes first.
_harness_collect() {
  local current="$1" command=/ place=1 flag='' values='' word
  shift
  for word in "$@"; do
    if [[ "$word" == '=' ]]; then
      continue  # bash makes three words of --flag=value
    elif [[ -n "$flag" ]]; then
      flag=''
    elif [[ "$word" == -* ]]; then
      _harness_find "$command" "$word" && [[ -n "$values" ]] && flag="$word"
    elif _harness_find "$command" "$word" && [[ "$values" == COMMAND ]]; then
      if [[ "$command" == / ]]; then command="$word"; else command="$command/$word"; fi
    else
      [[ "$command" == / ]] && command=@DEFAULT@
      place=$((place + 1))
    fi
  done
  if [[ -n "$flag" ]]; then
    _harness_find "$command" "$flag"
  else
    _harness_add_names "$command" "$current"
    [[ "$current" == -* ]] && return
    _harness_find "$command" "$place" || _harness_find "$command" '*'
  fi
  for word in $values; do
    case "$word" in
      COMMAND|VALUE) ;;
      FILE) [[ "$command$current" == / && -z "$flag" ]] || files=1 ;;  # too many beside all commands
      *) offers+=("$word|") ;;
    esac
  done
}
"""

_BASH: Final = r"""
# `-o default` completes what bash itself knows where nothing of ours fits.
_harness() {
  local IFS=$' \t\n' current="${COMP_WORDS[COMP_CWORD]}" files='' offers=() word
  [[ "$current" == '=' ]] && current=''
  COMPREPLY=()
  _harness_collect "$current" "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  for word in "${offers[@]}"; do
    word="${word%%|*}"
    [[ "$word" == "$current"* ]] && COMPREPLY+=("$word")
  done
  if [[ -n "$files" ]]; then
    compopt -o filenames 2> /dev/null  # bash 3.2 has none
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  fi
}
complete -o default -F _harness harness
"""

_ZSH: Final = r"""
_harness_complete() {
  local files='' offer description result=1
  local -a offers described before
  before=("${(@)words[2,CURRENT-1]}")
  if [[ "$PREFIX" == -*=* ]]; then
    before+=("${PREFIX%%=*}")
    compset -P 1 '*='
  fi
  () { setopt local_options sh_word_split; _harness_collect "$@" } "$PREFIX" "${before[@]}"
  for offer in "${offers[@]}"; do
    description="${offer#*|}"
    described+=("${${offer%%|*}//:/\\:}${description:+:$description}")
  done
  (( $#described )) && _describe -t words word described && result=0
  [[ -n "$files" ]] && _files && result=0
  return result
}

# As the file `_harness` in a folder of fpath this is the body of a function, and must call the one above; elsewhere
# (`source`, `eval`) that is registered.
case ${funcstack[1]} in
  _harness|_harness_complete) _harness_complete "$@" ;;
  *) compdef _harness_complete harness ;;
esac
"""

_FISH: Final = r"""
# Print the rows of a command that have a name.
function __harness_find --argument-names command name
    set -l command (string escape --style=regex -- $command)
    set -l name (string escape --style=regex -- $name)
    string match -r -- "^(?:\*|(?:[^|]* )?$command(?: [^|]*)?)\|(?:[^|]* )?$name(?: [^|]*)?\|.*" $__harness_table
end

# Print what follows a name in the rows of a command, a word each line.
function __harness_values
    for row in (__harness_find $argv)
        string split -n ' ' -- (string split '|' -- $row)[3]
    end
end

# Print the names of a command's flags, or those of the commands below it.
function __harness_names --argument-names command current
    set -l rows (string match -r -- "^(?:\*|(?:[^|]* )?$command(?: [^|]*)?)\|.*" $__harness_table)
    if string match -q -- '-*' $current
        set rows (string match -r -- '^[^|]*\|-.*' $rows)
    else
        set rows (string match -r -- '^[^|]*\|[^|]*\|COMMAND\|.*' $rows)
    end
    for row in $rows
        set -l columns (string split -m 3 '|' -- $row)
        for name in (string split ' ' -- $columns[2])
            printf '%s\t%s\n' $name $columns[4]
        end
    end
end

# Print the words that may stand behind those before the cursor.
function __harness_complete
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct)
    set -l prefix ''
    if string match -q -- '-*=*' $current
        set -l parts (string split -m 1 = -- $current)
        set -a before $parts[1]
        set prefix $parts[1]=
        set current $parts[2]
    end
    set -l command /
    set -l place 1
    set -l flag ''
    for word in $before
        set -l values (__harness_values $command $word)
        if test -n "$flag"
            set flag ''
        else if string match -q -- '-*' $word
            test -n "$values"; and set flag $word
        else if test "$values" = COMMAND
            set command (string replace -r '^//' '' -- $command/$word)
        else
            test $command = /; and set command @DEFAULT@
            set place (math $place + 1)
        end
    end
    set -l values
    if test -n "$flag"
        set values (__harness_values $command $flag)
    else
        __harness_names $command $current
        string match -q -- '-*' $current; and return
        set values (__harness_values $command $place)
        test -n "$values"; or set values (__harness_values $command '*')
    end
    if contains FILE $values; and test "$command$current$flag" != / # too many beside all commands
        set -a values (__fish_complete_path $current)
    end
    for value in $values
        contains $value COMMAND FILE VALUE; or printf '%s%s\n' $prefix $value
    end
end

complete -c harness -f -a '(__harness_complete)'
"""


def write_script(app: App, shell: Shell) -> str:
    """Return the script that completes the command line of an application in a shell.

    All words are in it: a shell that asked the harness at each press of the key would wait for Python.
    """
    rows = [*_table(app), *_EVERY_COMMAND]
    if shell == "fish":
        quoted = " \\\n  ".join("'" + row.replace("\\", "\\\\").replace("'", "\\'") + "'" for row in rows)
        return f"set -g __harness_table {quoted}\n{_FISH.replace('@DEFAULT@', _DEFAULT)}"
    quoted = "\n".join(map(shlex.quote, rows))
    table = f"_harness_table=(\n{quoted}\n)\n{_BASH_AND_ZSH.replace('@DEFAULT@', _DEFAULT)}"
    return f"{table}{_BASH}" if shell == "bash" else f"#compdef harness\n{table}{_ZSH}"


def _table(app: App) -> Sequence[str]:
    """Return a row for each command, and one for each flag or argument with all commands that take it."""
    takers: dict[str, list[str]] = {}
    known = _known_values()
    for command, row in _rows(app, _ROOT, known):
        takers.setdefault(row, []).append(command)
        if command == _DEFAULT:
            takers[row].append(_ROOT)
    return [f"{' '.join(commands)}|{row}" for row, commands in takers.items()]


def _rows(app: App, path: str, known: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield each command and what it takes, as a row without the commands."""
    for name in app:
        if name.startswith("-"):
            continue
        command = app[name]
        below = name if path == _ROOT else f"{path}/{name}"
        yield path, f"{name}|COMMAND|{_shorten(command.help)}"
        yield from _rows(command, below, known)
        if command.default_command is None:
            continue
        for argument in command.assemble_argument_collection(parse_docstring=True):
            if argument.show:
                for names in _names(argument):
                    values = " ".join(_values(argument, below, known))
                    yield below, f"{names}|{values}|{_shorten(argument.parameter.help)}"


def _names(argument: Argument) -> Iterator[str]:
    """Yield the place of an argument, and its flags; one that may be given as either has both."""
    if argument.index is not None:
        yield "*" if argument.field_info.kind is argument.field_info.VAR_POSITIONAL else str(argument.index + 1)
    flags = [name for name in argument.names if name.startswith("-")]
    if flags:
        yield " ".join(flags)


def _values(argument: Argument, command: str, known: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the words that may be the value, and `FILE` if a path may; `VALUE` if neither is known."""
    if argument.index is None and _mentions(argument.hint, bool):
        return ()
    name = argument.name
    words = known.get(f"{command} {name}", known.get(name, argument.get_choices() or ()))
    meaning = argument.parameter.metavar or name
    takes_path = _mentions(argument.hint, Path) or any(part in str(meaning) for part in _PATHS)
    return (*words, "FILE") if takes_path else words or ("VALUE",)


def _known_values() -> Mapping[str, Sequence[str]]:
    """Return the words that flags and arguments take, by their first names, behind a command if others take none."""
    specifications = tuple(find_specifications())
    frameworks = plugins.installed_names("framework")
    recipes = {recipe for framework in frameworks for recipe in plugins.names_of_framework(framework, "recipes")}
    platforms = plugins.installed_names("platform")
    return {
        "FILES": specifications,
        "-b": specifications,
        "-p": platforms,
        "--against": (LAST,),
        "--data": plugins.installed_names("data provider"),
        "--framework": frameworks,
        "--info": ("FILE",),
        "--platforms": platforms,
        "--probe": plugins.installed_names("probe"),
        "--recipe": sorted(recipes),
        "--reporter": plugins.installed_names("reporter"),
        "compare --from": (LAST,),
        "export --model": (*plugins.installed_names("model definition"), "FILE"),
        "import FILES": (),
        "import --format": plugins.installed_names("format"),
        "query --since": (LAST,),
        "report --since": (LAST,),
        "report PATH": (LAST,),
    }


def _mentions(hint: object, type_: type) -> bool:
    return hint is type_ or any(_mentions(part, type_) for part in get_args(hint))


def _shorten(text: str | None) -> str:
    return textwrap.shorten(text or "", _DESCRIPTION_WIDTH, placeholder="…")
