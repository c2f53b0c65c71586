"""Commands of the lab, each with the flags that it takes: `harness lab serve`, `harness lab join` and the others."""

from __future__ import annotations

import dataclasses
import os
import re
import socket
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from msgspec import structs

from harness import display, shell
from harness.config import arguments, flags
from harness.config.flags import Words
from harness.core.errors import ExitCode, UsageError
from harness.lab.configuration import LOCAL, PORT

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags as LabFlags
    from harness.config.flags import InspectFlags as ServeFlags
    from harness.config.settings import Settings
    from harness.core.command import Command
    from harness.lab.pool import PoolAction
else:  # cyclopts reads it from the signatures below: with a field for each option
    LabFlags = flags.inspect_flags(arguments.installed_options(), "cache_dir")
    ServeFlags = flags.inspect_flags(arguments.installed_options(), "cache_dir", "local_reporter", "database")

_NO_LAB_FLAGS = LabFlags()
_NO_SERVE_FLAGS = ServeFlags()
_LEAST_LEASE_S = 3.0
_LONGEST_LEASE_S = 3600.0
_LONGEST_CHECK_H = 24.0 * 30


def serve(
    *,
    host: Annotated[str, Parameter(metavar="ADDRESS")] = LOCAL,
    port: Annotated[int, Parameter(metavar="NUMBER")] = PORT,
    results: Annotated[int | None, Parameter(metavar="PORT", show_default=False)] = None,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: ServeFlags = _NO_SERVE_FLAGS,
) -> int:
    """`harness lab serve`.

    Args:
        host: Address to listen at. Beyond this machine there must be certificates.
        port: Port to listen at; 0 takes any that is free.
        results: Serve results and their pages, too, at this port of the same address, as `harness serve` does; 0 takes
            any that is free (default: the scheduler alone).
        certificates: Folder of this machine's certificates.
        lab_flags: Where results are.
    """
    from harness.lab.configuration import load_security
    from harness.lab.scheduler import serve as serve_lab

    settings = arguments.resolve_settings(lab_flags)
    command = None if results is None else _compose_results_server(host, results, settings)
    return serve_lab(host, port, load_security(certificates), _line_printer(), command)


def join(
    address: str,
    /,
    *,
    platforms: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    devices: Annotated[Words, Parameter(metavar="DEVICE...", negative="")] = None,
    as_class: Annotated[str | None, Parameter(metavar="CLASS", show_default=False)] = None,
    check_every: Annotated[float | None, Parameter(metavar="HOURS", show_default=False)] = None,
    quiet_hours: Annotated[Words, Parameter(metavar="HOURS...", negative="")] = None,
    builds: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab join`.

    Args:
        address: Address of the lab: `lab`, `lab:8786`.
        platforms: Platforms whose devices join (default: android ios). `host` is this machine itself.
        devices: The only devices to join, by name or identity.
        as_class: Class of these devices (default: the product or processor of each).
        check_every: Check the health of each device so often, and take it out of the pool where it is bad (default: no
            checks).
        quiet_hours: Hours in which its devices get no jobs, by the clock of this host: 22:00-07:00, or 'Sat-Sun
            00:00-24:00' (default: none).
        builds: Platforms for which this host builds runners of commits, for everybody in the lab: it has their
            toolchains. `host` is its own kind.
        certificates: Folder of this machine's certificates.
        lab_flags: Where the files of jobs are kept.
    """
    from harness.lab.configuration import load_security
    from harness.lab.hosts import LabHost
    from harness.lab.quiet_hours import parse_quiet_hours

    if check_every is not None and not 0 < check_every <= _LONGEST_CHECK_H:
        raise UsageError(f"--check-every {check_every:g}: must be more than 0 and at most {_LONGEST_CHECK_H:g} hours")
    return LabHost(
        address,
        platforms or ("android", "ios"),
        devices or (),
        as_class or "",
        arguments.resolve_settings(lab_flags),
        load_security(certificates),
        _line_printer(),
        None if check_every is None else check_every * 3600,
        parse_quiet_hours(quiet_hours or ()),
        builds or (),
    ).join()


def status(
    address: str,
    /,
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab status`.

    Args:
        address: Address of the lab: `lab`, `lab:8786`.
        json: Show it as JSON.
        certificates: Folder of this machine's certificates.
        lab_flags: Where the files of jobs are kept.
    """
    from harness.lab.client import connect
    from harness.lab.configuration import load_security
    from harness.lab.status import show_status

    arguments.resolve_settings(lab_flags)
    with connect(address, load_security(certificates)) as client:
        return show_status(client, display.open_console(), as_json=json)


def withdraw(
    address: str,
    device: str,
    /,
    *,
    reason: Annotated[str, Parameter(metavar="TEXT", show_default=False)] = "",
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab withdraw`.

    Args:
        address: Address of the lab: `lab`, `lab:8786`.
        device: Name or identity of the device.
        reason: Why, for everybody who wonders.
        certificates: Folder of this machine's certificates.
        lab_flags: Where the files of jobs are kept.
    """
    if not reason.strip():
        raise UsageError(
            "withdraw: why? Others will wonder: give --reason",
            hint=f"harness lab withdraw {address} {device} --reason TEXT",
        )
    from harness.lab.pool import PoolAction

    return _act(PoolAction.WITHDRAW, address, device, certificates, lab_flags, reason=reason.strip())


def return_(
    address: str,
    device: str,
    /,
    *,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab return`.

    Args:
        address: Address of the lab: `lab`, `lab:8786`.
        device: Name or identity of the device.
        certificates: Folder of this machine's certificates.
        lab_flags: Where the files of jobs are kept.
    """
    from harness.lab.pool import PoolAction

    return _act(PoolAction.RETURN, address, device, certificates, lab_flags)


def check(
    address: str,
    device: str,
    /,
    *,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab check`.

    Args:
        address: Address of the lab: `lab`, `lab:8786`.
        device: Name or identity of the device.
        certificates: Folder of this machine's certificates.
        lab_flags: Where the files of jobs are kept.
    """
    from harness.lab.pool import PoolAction

    return _act(PoolAction.CHECK, address, device, certificates, lab_flags)


def _act(
    action: PoolAction,
    address: str,
    device: str,
    certificates: Path | None,
    lab_flags: LabFlags,
    *,
    reason: str = "",
) -> int:
    """Do what a person does with a device."""
    from harness.lab.client import connect
    from harness.lab.configuration import load_security
    from harness.lab.maintenance import act

    arguments.resolve_settings(lab_flags)
    with shell.handle_signals(), connect(address, load_security(certificates)) as client:
        return act(client, action, device, reason, _line_printer())


def dispatch(
    address: str,
    /,
    *,
    requests_from: Annotated[str, Parameter(metavar="URL")],
    specifications: Annotated[flags.SeveralWords, Parameter(metavar="FILE...")],
    repositories: Annotated[Words, Parameter(metavar="NAME=PLACE...", negative="")] = None,
    frameworks_dir: Annotated[tuple[Path, ...] | None, Parameter(metavar="FOLDER...", negative="")] = None,
    lease: Annotated[float, Parameter(metavar="SECONDS")] = 60.0,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab dispatch`.

    Args:
        address: Address of the lab: `lab`, `lab:8786`.
        requests_from: Server of results that persons ask, and that gets the results.
        specifications: What persons may ask for: files, folders of files, or names of built-in ones.
        repositories: Repositories of whose commits persons may ask for runs, as `NAME=URL` or `NAME=FOLDER`. Their code
            is executed on the hosts of the lab.
        frameworks_dir: Folders of recipes that build these commits, beside those of the harness.
        lease: Seconds after which another one takes what this one measured when it ended.
        certificates: Folder of this machine's certificates.
        lab_flags: Where the files of jobs are kept.
    """
    from harness.config.remote_target import find_token
    from harness.config.settings import default_config_dir
    from harness.lab.configuration import load_security, require_packages
    from harness.lab.on_demand.allow_list import load_allow_list
    from harness.lab.on_demand.dispatching import Dispatcher
    from harness.lab.on_demand.repositories import load_repositories
    from harness.lab.on_demand.request_queue import RequestQueue

    if not _LEAST_LEASE_S <= lease <= _LONGEST_LEASE_S:
        raise UsageError(f"--lease {lease:g}: must be at least {_LEAST_LEASE_S:g} and at most {_LONGEST_LEASE_S:g}")
    if missing_folder := next((folder for folder in frameworks_dir or () if not folder.is_dir()), None):
        raise UsageError(f"--frameworks-dir {missing_folder}: no such folder", hint="give a folder of recipes")
    require_packages()
    load_security(certificates)
    settings = dataclasses.replace(arguments.resolve_settings(lab_flags), lab=address, lab_certificates=certificates)
    queue = RequestQueue(requests_from, find_token(os.environ, default_config_dir()), _name_dispatcher())
    allowed = load_allow_list(specifications, lambda word: arguments.resolve_settings(lab_flags, (word,)))
    with shell.handle_signals(), display.open_display() as shown:
        allowed = structs.replace(
            allowed,
            repositories=load_repositories(repositories or (), settings.cache_dir, shown),
            recipes=tuple(folder.absolute() for folder in frameworks_dir or ()),
        )
        return Dispatcher(queue, allowed, settings, shown, lease).run()


def _name_dispatcher() -> str:
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:60]
    return f"{host}-{uuid.uuid4().hex[:8]}"


def certificate(
    host: str,
    /,
    *,
    certificates: Annotated[Path, Parameter(metavar="FOLDER")],
    lab_flags: LabFlags = _NO_LAB_FLAGS,  # noqa: ARG001 - flags of every command
) -> int:
    """`harness lab certificate`.

    Args:
        host: Name of the host.
        certificates: Folder of the authority, which is made with the first certificate.
        lab_flags: Flags of every command.
    """
    from harness.lab.certificates import make_certificate

    own, say = make_certificate(host, certificates), _line_printer()
    say(f"copy {own} to {host}, and name it there by --certificates (or --lab-certificates)")
    say(f"whoever has it can execute programs on every host of the lab; {certificates} makes more of them")
    return ExitCode.OK


def _compose_results_server(host: str, port: int, settings: Settings) -> Command:
    """Compose the command of the server of results, which a password of the database is no word of.

    Raises:
        UsageError: Its packages are not installed.
    """
    from harness.core.command import Command
    from harness.server.serving import require_packages

    require_packages()
    places = {"HARNESS_LOCAL_REPORTER": str(settings.local_reporter), "HARNESS_DATABASE": settings.database or ""}
    return Command(
        (sys.executable, "-m", "harness", "serve", "--host", host, "--port", str(port)),
        env={name: place for name, place in places.items() if place},
    )


def _line_printer() -> Callable[[str], None]:
    console = display.open_console()

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    return say
