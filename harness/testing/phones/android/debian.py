"""Fetching packages of another Debian release without installing them: private apt state, the machine's mirror."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.testing.phones import StandInUnavailable

_SOURCES: Final = Path("/etc/apt")
_LIMIT_S: Final = 600.0
_HOOKS: Final = "".join(
    f"#clear {name};\n"
    for name in ("APT::Update::Pre-Invoke", "APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success", "DPkg")
)
"""Machines may be configured to clean up after apt, which would clean the machine's own state."""
_REMEDY: Final = "on Debian 13: apt install adbd mksh toybox"


def fetch(packages: Sequence[str], suite: str, folder: Path) -> tuple[str, ...]:
    """Unpack packages and everything they depend on into a folder. apt checks signatures and hashes.

    Args:
        packages: Names of the packages.
        suite: Code name of the release.
        folder: Folder to fill; apt's own state goes into `.apt` there, and is removed.

    Returns:
        The names of the package files, which contain the versions.

    Raises:
        StandInUnavailable: There is no apt, no network, no mirror of Debian.
    """
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise StandInUnavailable(f"there is no {tool} to fetch {', '.join(packages)} with", hint=_REMEDY)
    state = folder / ".apt"
    apt = _private_apt(state, suite)
    _run((*apt, "update"))
    _run((*apt, "install", "--download-only", "--yes", "--no-install-recommends", *packages))
    archives = sorted((state / "cache" / "archives").glob("*.deb"))
    for archive in archives:
        _run(("dpkg-deb", "--extract", str(archive), str(folder)))
    shutil.rmtree(state)
    return tuple(archive.name for archive in archives)


def translate_sources(texts: Iterable[str], names: frozenset[str], suite: str) -> str:
    """Translate the package sources of a machine to another release.

    Args:
        texts: Contents of the files, each in either of apt's two formats.
        names: Names of the machine's own release there.
        suite: Code name of the wanted release.

    Returns:
        Sources in the deb822 format, empty where the machine has no mirror of Debian.
    """
    word = re.compile(rf"(?<![\w./-])({'|'.join(sorted(map(re.escape, names)))})(?![\w.])")
    translated = []
    for text in texts:
        lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        stanzas = (
            re.split(r"\n\s*\n", lines) if re.search(r"(?m)^URIs\s*:", lines) else map(_stanza, lines.splitlines())
        )
        for stanza in stanzas:
            suites = re.search(r"(?mi)^Suites\s*:.*$", stanza)
            components = re.search(r"(?mi)^Components\s*:(.*)$", stanza)
            if suites and components and "main" in components.group(1).split() and word.search(suites.group()):
                translated.append(stanza.replace(suites.group(), word.sub(suite, suites.group())).strip())
    return "\n\n".join(dict.fromkeys(translated))


def _stanza(line: str) -> str:
    """Return a source in the one-line format as a stanza; "" where the line is none."""
    source = re.fullmatch(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+(.+)", line.strip())
    if not source:
        return ""
    options = dict(re.findall(r"(\S+?)=(\S+)", source.group(1) or ""))
    signed = f"\nSigned-By: {options['signed-by']}" if "signed-by" in options else ""
    return f"Types: deb\nURIs: {source.group(2)}\nSuites: {source.group(3)}\nComponents: {source.group(4)}{signed}"


def _private_apt(state: Path, suite: str) -> tuple[str, ...]:
    for part in ("state/lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True)
    files = [_SOURCES / "sources.list", *sorted((_SOURCES / "sources.list.d").glob("*"))]
    texts = [
        file.read_text(errors="replace") for file in files if file.suffix in {".list", ".sources"} and file.is_file()
    ]
    sources = translate_sources(texts, _own_names(), suite)
    if not sources:
        raise StandInUnavailable("this machine's package sources have no mirror of Debian", hint=_REMEDY)
    (state / "debian.sources").write_text(sources + "\n")
    (state / "status").touch()
    (state / "hooks").write_text(_HOOKS)
    options = {
        "Dir::Etc::sourcelist": state / "debian.sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferences": "-",
        "Dir::Etc::preferencesparts": "-",
        "Dir::State": state / "state",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return ("apt-get", "-q", "-c", str(state / "hooks"), *words)


def _own_names() -> frozenset[str]:
    """Return the names that the release of this machine may have in its sources."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    if release.get("ID") != "debian":
        raise StandInUnavailable(
            "stand-in phones consist of Debian packages, and this machine is not Debian", hint=_REMEDY
        )
    codename = release.get("VERSION_CODENAME")
    return frozenset({codename, "stable"} if codename else {"sid", "unstable", "testing"})


def _run(argv: tuple[str, ...]) -> None:
    try:
        completed = shell.run(
            Command(argv, env={"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}, timeout_s=_LIMIT_S)
        )
    except EnvironmentProblem as error:
        raise StandInUnavailable(error.message, hint=_REMEDY) from error
    if not completed.ok:
        raise StandInUnavailable(
            f"the programs of the stand-in phones cannot be fetched: {completed.describe()}",
            hint=f"is there a network? Or, {_REMEDY}",
        )
