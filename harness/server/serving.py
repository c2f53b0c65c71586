"""Running the server: its socket, what it says at the start, and its end."""

from __future__ import annotations

import errno
import gc
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.files.installation import install_command
from harness.server.config import ServerConfig
from harness.store.database.engine import Database
from harness.store.database.tokens import list_tokens

_KEEP_ALIVE_S = 15
_END_S = 20
_HEADER_BYTES = 1 << 15


def require_packages() -> None:
    """Check that the packages of the extra `server` are installed.

    Raises:
        EnvironmentProblem: One is missing.
    """
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"the server needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            hint=f"install what it needs: {install_command(['server'])}",
        )


def serve(database: Database, config: ServerConfig, say: Callable[[str], None]) -> int:
    """Answer requests until a signal ends it; requests that are being answered then are answered.

    Args:
        database: The store; the caller closes it.
        config: Settings of the server.
        say: Shows a line to whoever started it.

    Returns:
        The exit code.

    Raises:
        UsageError: Others could reach it, and there is no token.
        EnvironmentProblem: The port is taken, or the certificate cannot be read.
    """
    import uvicorn  # noqa: PLC0415 - it may be missing, which `require_packages` says in words

    from harness.server.app import create_app  # noqa: PLC0415 - likewise

    has_tokens = bool(list_tokens(database))
    _require_tokens(config, has_tokens=has_tokens)
    _check_certificate(config)
    app = create_app(database, config)
    with _listen(config) as listening:
        port = listening.getsockname()[1]
        for line in _describe(config, port, database.place, has_tokens=has_tokens):
            say(line)
        settings = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_END_S,
            limit_concurrency=config.limits.requests * 8,
            proxy_headers=bool(config.public_url),
            forwarded_allow_ips="127.0.0.1,::1",
            ssl_certfile=config.certificate,
            ssl_keyfile=config.key,
        )
        # What was imported is no garbage; to look through it again takes half the time of the slowest views.
        gc.collect()
        gc.freeze()
        with _ignore_repeated_signals():
            uvicorn.Server(settings).run(sockets=[listening])
    say("stopped")
    return ExitCode.OK


def _require_tokens(config: ServerConfig, *, has_tokens: bool) -> None:
    """Check that nobody else reaches a server that anybody may write to.

    Raises:
        UsageError: Somebody could.
    """
    if config.is_local or has_tokens:
        return
    place = f"--public-url {config.public_url}" if config.public_url else f"--host {config.host}"
    raise UsageError(
        f"{place} lets others reach this server, and there is no token",
        hint="make one first: harness token create NAME --scope write (it is shown once; give --database as here)",
    )


def _check_certificate(config: ServerConfig) -> None:
    """Check that certificate and key can be used, before anything is said.

    Raises:
        EnvironmentProblem: They cannot.
    """
    if config.certificate is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(config.certificate, config.key)
    except OSError as error:  # ssl.SSLError is one
        raise EnvironmentProblem(
            f"the certificate {config.certificate} with the key {config.key} cannot be used: {error.strerror or error}",
            hint="both are PEM files that belong together; the key has no password",
        ) from error


@contextmanager
def _listen(config: ServerConfig) -> Iterator[socket.socket]:
    """Give a socket that listens.

    Raises:
        EnvironmentProblem: The port is taken, or the address is not one of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(512)
            yield listening
    except OSError as error:
        raise _explain(error, config) from error


def _explain(error: OSError, config: ServerConfig) -> EnvironmentProblem:
    place = f"{config.host}:{config.port}"
    if error.errno == errno.EADDRINUSE:
        return EnvironmentProblem(
            f"another program listens at {place}", hint="give another --port; --port 0 takes any that is free"
        )
    if error.errno == errno.EACCES:
        return EnvironmentProblem(
            f"this account may not listen at {place}", hint="give a --port of at least 1024, and use a proxy for others"
        )
    return EnvironmentProblem(
        f"cannot listen at {place}: {error.strerror or error}", hint="--host takes an address or name of this machine"
    )


def _describe(config: ServerConfig, port: int, place: str, *, has_tokens: bool) -> Iterator[str]:
    """Yield what whoever started it should know."""
    scheme = "https" if config.certificate is not None else "http"
    host = f"[{config.host}]" if ":" in config.host else config.host
    address = config.public_url or f"{scheme}://{host}:{port}/"
    yield f"results are shown at {address} (Ctrl-C ends it)"
    yield f"they are kept in {place}"
    if config.is_local and not has_tokens:
        yield "who may write: everybody on this machine, without a token; nobody else reaches it"
    elif config.is_local:
        yield "who may write: whoever has a token with the scope write; everybody on this machine may read"
    else:
        yield "who may read and write: whoever has a token with that scope"
    if not config.is_local and not config.is_encrypted:
        yield "tokens travel unencrypted: beyond a closed network give --certificate and --key, or use a proxy with TLS"
    base = address.rstrip("/")
    yield f"report to it: harness mv2 --remote-reporter {base}/api/v1/results"


@contextmanager
def _ignore_repeated_signals() -> Iterator[None]:
    """Let uvicorn end well: it sends itself the signal again that ended it."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.stderr.flush()
