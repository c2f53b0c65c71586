"""Target of the remote reporter: the URL and category that results are posted to, and the token for it.

The token is `HARNESS_REMOTE_TOKEN`, or the content of the file that `HARNESS_REMOTE_TOKEN_FILE` names, or of
`remote_token` in the configuration folder; only its owner may be able to read such a file. A user and password in the
URL serve where there is no token.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from pydantic import SecretStr

from harness.core.errors import EnvironmentProblem, UsageError

RESULTS_PATH: Final = "/api/v1/results"
"""Where a server of the harness takes results."""

TOKEN_VARIABLE: Final = "HARNESS_REMOTE_TOKEN"  # noqa: S105 - the name of a variable, not a token
TOKEN_FILE_VARIABLE: Final = "HARNESS_REMOTE_TOKEN_FILE"  # noqa: S105 - likewise


class RemoteTarget(Struct, frozen=True):
    """Address that results are posted to.

    Attributes:
        url: Without user and password.
        category: Or None.
        login: `user:password` that stood in the URL.
        named: URL as it was given, where that had no path; else empty.
    """

    url: str
    category: str | None = None
    login: SecretStr | None = None
    named: str = ""

    @classmethod
    def parse(cls, text: str) -> RemoteTarget:
        """Read `URL|category` or `URL`; without a scheme it is https, without a path that of a server of the harness.

        Raises:
            UsageError: It is neither. The message shows no credentials.
        """
        address, _, category = (part.strip() for part in text.partition("|"))
        if "://" not in address:
            address = f"https://{address}"
        try:
            parts = urlsplit(address)
            (parts.hostname or "").encode("idna")
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, brackets that do not close, an empty label
            usable = False
        if not usable:
            shown = re.sub(r"//.*@", "//***@", address).partition("?")[0]
            raise UsageError(
                f"--remote-reporter does not name a server: {shown}",
                hint="write 'https://host/path|category'; https:// and |category may be left out",
            )
        login, _, place = parts.netloc.rpartition("@")
        named = parts._replace(netloc=place, fragment="")
        return cls(
            url=named._replace(path=named.path or RESULTS_PATH).geturl(),
            category=category or None,
            login=SecretStr(unquote(login)) if login else None,
            named="" if named.path else named.geturl(),
        )

    @property
    def takes_batches(self) -> bool:
        """True if the path is that of a server of the harness, which takes several results at once."""
        return urlsplit(self.url).path.endswith(RESULTS_PATH)

    @property
    def shown(self) -> str:
        """URL for messages: without the values of a query, which may be secrets, too."""
        address, question, _ = self.url.partition("?")
        return f"{address}?..." if question else address

    @property
    def digest(self) -> str:
        """Name of the spool of this target, by the URL as it was given; it does not depend on the password."""
        return sha256(f"{self.named or self.url}|{self.category or ''}".encode()).hexdigest()[:32]


def find_token(environment: Mapping[str, str], config_dir: Path) -> SecretStr | None:
    """Return the token from the environment or a private file, or None.

    Raises:
        UsageError: It cannot be a token (RFC 6750 allows visible ASCII only).
        EnvironmentProblem: Its file cannot be read, or others can read it.
    """
    named = environment.get(TOKEN_FILE_VARIABLE)
    if environment.get(TOKEN_VARIABLE):
        source, text = TOKEN_VARIABLE, environment[TOKEN_VARIABLE]
    elif named:
        source, text = named, _read_private(Path(named))
    elif (file := config_dir / "remote_token").exists():
        source, text = str(file), _read_private(file)
    else:
        return None
    token = text.strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise UsageError(
            f"{source} holds no token: it is empty, or has spaces or characters beyond ASCII",
            hint="put the token there and nothing else",
        )
    return SecretStr(token)


def _read_private(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            # fstat of the opened file, so that it is the one that is read.
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(1 << 16)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot read the token in {file}: {error.strerror or error}", hint=f"check {TOKEN_FILE_VARIABLE}"
        ) from error
    if mode & 0o077 and os.name == "posix":  # Windows shows no permissions of others here
        raise EnvironmentProblem(
            f"others can read the token in {file} (mode {mode & 0o777:04o})", hint=f"chmod 600 {shlex.quote(str(file))}"
        )
    return content.decode(errors="replace")
