"""Links to commits and diffs, made from the remote's URL as GitHub, GitLab, Gitea and cgit have them.

Where nothing shows which interface a host has, there is no link: a dead link is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

_SCP: Final = re.compile(r"^(?:[^@/\s:]+@)?(?P<host>[A-Za-z0-9.-]+\.[A-Za-z0-9-]+|localhost):(?!/?/)(?P<path>[^\s]+)$")
"""`git@host:path`, the form of ssh without a scheme (git-clone(1), GIT URLS)."""
_DRIVE_OR_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WEB_SCHEMES: Final = frozenset({"http", "https"})
_SCHEMES: Final = _WEB_SCHEMES | {"ssh", "git", "git+ssh"}


class _Forge(Struct, frozen=True):
    """Web interface of repositories.

    Attributes:
        serves: Whether an address, `host/path`, is of this kind.
        commit: Path of a commit.
        diff: Path of the difference between two commits.
        keeps_suffix: Whether addresses keep the `.git` of the remote.
    """

    serves: Callable[[str, str], bool]
    commit: str
    diff: str
    keeps_suffix: bool = False


def _host_has(*labels: str) -> Callable[[str, str], bool]:
    """Return a check whether a label of the host's name begins with one of some words."""
    return lambda host, _: any(part.startswith(labels) for part in host.split("."))


_FORGES: Final = (
    _Forge(_host_has("github"), "/commit/{after}", "/compare/{before}...{after}"),
    _Forge(_host_has("gitlab"), "/-/commit/{after}", "/-/compare/{before}...{after}"),
    _Forge(_host_has("gitea", "codeberg", "forgejo"), "/commit/{after}", "/compare/{before}...{after}"),
    _Forge(
        lambda host, path: host.startswith("cgit.") or host == "git.kernel.org" or path.startswith("/cgit/"),
        "/commit/?id={after}",
        "/diff/?id={after}&id2={before}",
        keeps_suffix=True,
    ),
)


def web_address(remote: str) -> str:
    """Return the address of a repository's pages, without user and password; empty where the remote's URL names none.

    Args:
        remote: URL of the remote, as git has it: `https:`, `ssh:`, `git:` or `user@host:path`.
    """
    scp = _SCP.match(remote)
    try:
        parts = urlsplit(f"ssh://{scp['host']}/{scp['path']}" if scp else remote)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    path = parts.path.rstrip("/")
    if parts.scheme not in _SCHEMES or not host or not path.strip("/"):
        return ""
    if parts.scheme not in _WEB_SCHEMES:
        host, port = host.removeprefix("ssh."), None  # ssh.github.com:443 is another name of github.com
    if not (forge := _forge_of(host, path)):
        return ""
    scheme = parts.scheme if parts.scheme in _WEB_SCHEMES else "https"
    address = path if forge.keeps_suffix else path.removesuffix(".git")
    return f"{scheme}://{host}{f':{port}' if port else ''}{quote(address, safe='/%~+@')}"


def is_absolute(place: str) -> bool:
    """Return whether a place is a path of one machine alone, in the form of any system."""
    return place.startswith(("/", "\\", "~")) or bool(_DRIVE_OR_SCHEME.match(place))


def is_web_address(place: str) -> bool:
    """Return whether a place is an address that a browser opens, on whatever machine."""
    return place.startswith(("http://", "https://"))


def commit_url(repository: str, commit: str) -> str:
    """Return the page of a commit of a repository (`web_address`); empty where none is known."""
    return _url(repository, lambda forge: forge.commit, "", commit)


def diff_url(repository: str, before: str, after: str) -> str:
    """Return the page of the difference between two commits; empty where none is known."""
    return _url(repository, lambda forge: forge.diff, before, after)


def fill_diff_url(template: str, before: str, after: str) -> str:
    """Fill a user's own address of a difference, which contains `{before}` and `{after}`."""
    names = {"{before}": before, "{after}": after}
    for name, commit in names.items():
        template = template.replace(name, quote(commit, safe="", errors="replace"))
    return template


def _url(repository: str, page: Callable[[_Forge], str], before: str, after: str) -> str:
    parts = urlsplit(repository)
    forge = _forge_of(parts.hostname or "", parts.path)
    if not repository or forge is None or not after:
        return ""
    return f"{repository}{fill_diff_url(page(forge), before, after)}"


def _forge_of(host: str, path: str) -> _Forge | None:
    return next((forge for forge in _FORGES if forge.serves(host, path)), None)
