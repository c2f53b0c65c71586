"""Commands of the server of results: serve and token."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from harness import display
from harness.config import arguments, flags
from harness.config.flags import Words
from harness.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags as StoreFlags
    from harness.config.settings import Settings
    from harness.store.database.engine import Database
else:  # cyclopts reads it from the signatures below: with a field for each option
    StoreFlags = flags.inspect_flags(arguments.installed_options(), "local_reporter", "database")

_NO_STORE_FLAGS = StoreFlags()
_PATIENCE_S = 5.0
"""How long a request waits for other processes that write: a reporter waits 10 s, and keeps its result."""


def serve(
    *,
    host: Annotated[str, Parameter(metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, Parameter(metavar="NUMBER")] = 8080,
    public_url: Annotated[str, Parameter(metavar="URL", show_default=False)] = "",
    allowed_host: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    certificate: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    key: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    json_log: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    body_mib: Annotated[int, Parameter(metavar="MIB")] = 32,
    artifact_mib: Annotated[int, Parameter(metavar="MIB")] = 64,
    batch: Annotated[int, Parameter(metavar="COUNT")] = 200,
    rate: Annotated[float, Parameter(metavar="COUNT")] = 100.0,
    requests: Annotated[int, Parameter(metavar="COUNT")] = 64,
    open_runs: Annotated[int, Parameter(metavar="COUNT")] = 10,
    title: Annotated[str, Parameter(metavar="TEXT")] = "harness",
    store_flags: StoreFlags = _NO_STORE_FLAGS,
) -> int:
    """`harness serve`.

    Args:
        host: Address to listen at. Beyond this machine (0.0.0.0 is every address) there must be a token.
        port: Port to listen at; 0 takes any that is free.
        public_url: Address under which others reach it through a proxy. Everybody needs a token then.
        allowed_host: Further names that requests may be addressed to.
        certificate: Certificate chain (PEM), to answer by https.
        key: Private key of the certificate (PEM).
        json_log: Write each line of the log as a JSON object.
        body_mib: Largest body of a request, in MiB, also after it was decompressed.
        artifact_mib: Largest file of a result, in MiB.
        batch: Most results in one request.
        rate: Requests per second that one address may send for long.
        requests: Most requests that are answered at once.
        open_runs: Most runs that one person may have asked for that have not ended.
        title: Name of the site, which stands in the titles of its pages.
        store_flags: Where results are.
    """
    from rich.text import Text

    from harness.config.settings import default_config_dir
    from harness.display.tables import print_output
    from harness.server.config import MIB, ServerConfig, ServerLimits
    from harness.server.serving import require_packages
    from harness.server.serving import serve as run_server
    from harness.server.sessions import load_secret

    settings = arguments.resolve_settings(store_flags)
    require_packages()
    amounts = {"--body-mib": body_mib, "--artifact-mib": artifact_mib, "--batch": batch, "--requests": requests}
    amounts |= {"--open-runs": open_runs}
    for flag, amount in amounts.items():
        if not 0 < amount <= 1 << 20:
            raise UsageError(f"{flag} {amount}: must be at least 1, and at most {1 << 20}")
    if not 0 < rate <= 1e6:
        raise UsageError(f"--rate {rate:g}: must be above 0, and at most 1000000")
    limits = ServerLimits(
        body_bytes=body_mib * MIB,
        pending_bytes=4 * body_mib * MIB,
        batch=batch,
        artifact_bytes=artifact_mib * MIB,
        requests=requests,
        rate=rate,
        burst=10 * rate,
        open_runs=open_runs,
    )
    config = ServerConfig(
        host=host,
        port=port,
        public_url=public_url,
        allowed_hosts=tuple(allowed_host or ()),
        certificate=certificate,
        key=key,
        json_log=json_log,
        title=title,
        limits=limits,
    )
    config.check()
    secret = load_secret(default_config_dir() / "server_secret")
    console = display.open_console()
    with _open_store(settings, durable=True, patience_s=_PATIENCE_S) as database:
        return run_server(
            database,
            dataclasses.replace(config, secret=secret),
            lambda line: print_output(Text(line, no_wrap=True), console),
        )


def token(
    action: Literal["create", "revoke", "list"],
    name: str | None = None,
    /,
    *,
    scope: Annotated[Words, Parameter(metavar="SCOPE...", negative="")] = None,
    expires: Annotated[str | None, Parameter(metavar="AGE|DATE")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    store_flags: StoreFlags = _NO_STORE_FLAGS,
) -> int:
    """`harness token`.

    Args:
        action: What to do: make a token, which is shown once; make one useless; or list all.
        name: Name of whoever gets it: ci, lab-3, a person.
        scope: What it may do: `read` pages and results, `write` results and alarms, `request` runs, and those of
            `commits`, too, measure them as a `lab`, `admin` everything (default: read; none but `admin` includes
            another).
        expires: End of its validity: an age such as `90d` or `1w`, or a date (default: none).
        json: Show the tokens as JSON.
        store_flags: Where results are.
    """
    from harness.flows.store import tokens

    settings = arguments.resolve_settings(store_flags)
    console = display.open_console()
    if action == "list":
        if name is not None or scope or expires is not None:
            raise UsageError("a list takes no name, --scope or --expires", hint="harness token list")
        with _open_store(settings) as database:
            return tokens.show_tokens(database, console, now=time.time(), as_json=json)
    if name is None:
        raise UsageError(f"{action} a token of which name?", hint=f"harness token {action} NAME")
    if json:
        raise UsageError(f"--json beside {action}", hint="`harness token list --json` shows all")
    if action == "revoke":
        if scope or expires is not None:
            raise UsageError("--scope or --expires beside revoke", hint=f"harness token revoke {name}")
        with _open_store(settings) as database:
            tokens.revoke(database, name, console, now=time.time())
        return ExitCode.OK
    scopes = tokens.parse_scopes(scope or ["read"])
    now = time.time()
    end = tokens.parse_expiry(expires, now) if expires is not None else None
    with _open_store(settings, durable=True) as database:
        tokens.create(database, name, scopes, end, console, now=now)
    return ExitCode.OK


def _open_store(settings: Settings, *, durable: bool = False, patience_s: float = 60.0) -> Database:
    """Open the database of the settings; without one, `results.db` in the folder of stored results."""
    from harness.store.database.opening import open_configured

    return open_configured(settings, durable=durable, patience_s=patience_s)
