"""Command of the lab."""

from __future__ import annotations

import dataclasses
import os
import re
import socket
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from harness import display, shell
from harness.config import arguments, flags
from harness.config.flags import Words
from harness.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags as LabFlags
else:  # cyclopts reads it from the signatures below: with a field for each option
    LabFlags = flags.inspect_flags(arguments.installed_options(), "cache_dir")

_NO_LAB_FLAGS = LabFlags()
_OF_ACTION = {
    "serve": frozenset({"host", "port"}),
    "join": frozenset({"platforms", "devices", "as_class", "check_every", "quiet_hours", "builds"}),
    "withdraw": frozenset({"device", "reason"}),
    "return": frozenset({"device"}),
    "check": frozenset({"device"}),
    "status": frozenset({"json"}),
    "dispatch": frozenset({"requests_from", "specifications", "repositories", "frameworks_dir", "lease"}),
    "certificate": frozenset(),
}


_NO_ADDRESS = {
    "serve": ("a lab listens at --host and --port", "harness lab serve --port 8786"),
    "join": ("join which lab?", "harness lab join ADDRESS"),
    "status": ("show which lab?", "harness lab status ADDRESS"),
    "withdraw": ("withdraw a device of which lab?", "harness lab withdraw ADDRESS DEVICE --reason TEXT"),
    "return": ("return a device of which lab?", "harness lab return ADDRESS DEVICE"),
    "check": ("check a device of which lab?", "harness lab check ADDRESS DEVICE"),
    "dispatch": ("measure in which lab?", "harness lab dispatch ADDRESS --requests-from URL --specifications FOLDER"),
    "certificate": ("the certificate of which host?", "harness lab certificate HOST --certificates FOLDER"),
}
"""What is wrong with the address of an action, and the remedy."""
_LEAST_LEASE_S = 3.0
_LONGEST_LEASE_S = 3600.0
_LONGEST_CHECK_H = 24.0 * 30


def lab(
    action: Literal["serve", "join", "status", "withdraw", "return", "check", "dispatch", "certificate"],
    address: str | None = None,
    device: str | None = None,
    /,
    *,
    host: Annotated[str | None, Parameter(metavar="ADDRESS", show_default=False)] = None,
    port: Annotated[int | None, Parameter(metavar="NUMBER", show_default=False)] = None,
    platforms: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    devices: Annotated[Words, Parameter(metavar="DEVICE...", negative="")] = None,
    as_class: Annotated[str | None, Parameter(metavar="CLASS", show_default=False)] = None,
    check_every: Annotated[float | None, Parameter(metavar="HOURS", show_default=False)] = None,
    quiet_hours: Annotated[Words, Parameter(metavar="HOURS...", negative="")] = None,
    reason: Annotated[str | None, Parameter(metavar="TEXT", show_default=False)] = None,
    builds: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    requests_from: Annotated[str | None, Parameter(metavar="URL", show_default=False)] = None,
    specifications: Annotated[Words, Parameter(metavar="FILE...", negative="")] = None,
    repositories: Annotated[Words, Parameter(metavar="NAME=PLACE...", negative="")] = None,
    frameworks_dir: Annotated[tuple[Path, ...] | None, Parameter(metavar="FOLDER...", negative="")] = None,
    lease: Annotated[float | None, Parameter(metavar="SECONDS", show_default=False)] = None,
    certificates: Annotated[Path | None, Parameter(metavar="FOLDER", show_default=False)] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    lab_flags: LabFlags = _NO_LAB_FLAGS,
) -> int:
    """`harness lab`.

    Args:
        action: What to do: serve jobs (`serve`), join devices of this host (`join`), show the lab (`status`), take a
            device out of the pool (`withdraw`) or bring it back (`return`), check its health now (`check`), measure
            what persons ask for at a server of results (`dispatch`), or make the certificate of a host (`certificate`),
            and the authority of the lab with the first.
        address: Address of the lab, to join or to show: `lab`, `lab:8786`; of `certificate` the name of the host.
        device: Name or identity of the device to withdraw, to return or to check.
        host: Of `serve`: address to listen at (default: 127.0.0.1). Beyond this machine there must be certificates.
        port: Of `serve`: port to listen at (default: 8786); 0 takes any that is free.
        platforms: Of `join`: platforms whose devices join (default: android ios). `host` is this machine itself.
        devices: Of `join`: the only devices to join, by name or identity.
        as_class: Of `join`: class of these devices (default: the product or processor of each).
        check_every: Of `join`: check the health of each device so often, and take it out of the pool where it is bad
            (default: no checks).
        quiet_hours: Of `join`: hours in which its devices get no jobs, by the clock of this host: 22:00-07:00, or
            'Sat-Sun 00:00-24:00' (default: none).
        reason: Of `withdraw`: why, for everybody who wonders.
        builds: Of `join`: platforms for which this host builds runners of commits, for everybody in the lab: it has
            their toolchains. `host` is its own kind.
        requests_from: Of `dispatch`: server of results that persons ask, and that gets the results.
        specifications: Of `dispatch`: what persons may ask for: files, folders of files, or names of built-in ones.
        repositories: Of `dispatch`: repositories of whose commits persons may ask for runs, as `NAME=URL` or
            `NAME=FOLDER`. Their code is executed on the hosts of the lab.
        frameworks_dir: Of `dispatch`: folders of recipes that build these commits, beside those of the harness.
        lease: Of `dispatch`: seconds after which another one takes what this one measured when it ended (default: 60).
        certificates: Folder of this machine's certificates; of `certificate` that of the authority.
        json: Of `status`: show it as JSON.
        lab_flags: Where the files of jobs are kept.
    """
    given: dict[str, object] = {
        "host": host,
        "port": port,
        "platforms": platforms,
        "devices": devices,
        "as_class": as_class,
        "check_every": check_every,
        "quiet_hours": quiet_hours,
        "device": device,
        "reason": reason,
        "builds": builds,
        "json": json,
        "requests_from": requests_from,
        "specifications": specifications,
        "repositories": repositories,
        "frameworks_dir": frameworks_dir,
        "lease": lease,
    }
    named = [name for name, value in given.items() if value is not None and value is not False]
    for name in [name for name in named if name not in _OF_ACTION[action]]:
        flag = str(device) if name == "device" else f"--{name.replace('_', '-')}"
        raise UsageError(f"{flag} beside {action}", hint=f"harness lab {action} --help")
    if (address is None) is (action != "serve"):
        message, hint = _NO_ADDRESS[action]
        raise UsageError(message, hint=hint)
    if action == "certificate":
        return _make_certificate(str(address), certificates)
    if action == "dispatch":
        return _dispatch(
            str(address),
            requests_from,
            specifications or (),
            repositories=repositories or (),
            recipes=frameworks_dir or (),
            lease_s=lease,
            certificates=certificates,
            lab_flags=lab_flags,
        )
    from harness.lab.configuration import PORT, load_security

    settings = arguments.resolve_settings(lab_flags)
    security = load_security(certificates)
    console = display.open_console()

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    if action == "serve":
        from harness.lab.scheduler import serve

        return serve(host or "127.0.0.1", PORT if port is None else port, security, say)
    if action == "join":
        from harness.lab.hosts import Host

        if check_every is not None and not 0 < check_every <= _LONGEST_CHECK_H:
            raise UsageError(
                f"--check-every {check_every:g}: must be more than 0 and at most {_LONGEST_CHECK_H:g} hours"
            )
        every_s = None if check_every is None else check_every * 3600
        names, only = platforms or ("android", "ios"), devices or ()
        from harness.lab.quiet_hours import parse_quiet_hours

        quiet = parse_quiet_hours(quiet_hours or ())
        flags_of_host = (settings, security, say, every_s, quiet, builds or ())
        return Host(address or "", names, only, as_class or "", *flags_of_host).join()
    from harness.lab.engine import connect

    if action in {"withdraw", "return", "check"}:
        if device is None or (action == "withdraw" and not (reason or "").strip()):
            missing = "which device?" if device is None else "why? Others will wonder: give --reason"
            raise UsageError(f"{action}: {missing}", hint=_NO_ADDRESS[action][1])
        from harness.lab.maintenance import act
        from harness.lab.pool import PoolAction

        with shell.handle_signals(), connect(address or "", security) as engine:
            return act(engine, PoolAction(action), device, (reason or "").strip(), say)
    from harness.lab.status import show_status

    with connect(address or "", security) as engine:
        return show_status(engine, console, as_json=json)


def _dispatch(
    address: str,
    url: str | None,
    words: Sequence[str],
    *,
    repositories: Sequence[str],
    recipes: Sequence[Path],
    lease_s: float | None,
    certificates: Path | None,
    lab_flags: LabFlags,
) -> int:
    if url is None or not words:
        missing = "--requests-from" if url is None else "--specifications"
        raise UsageError(f"`harness lab dispatch` needs {missing}", hint=_NO_ADDRESS["dispatch"][1])
    if lease_s is not None and not _LEAST_LEASE_S <= lease_s <= _LONGEST_LEASE_S:
        raise UsageError(f"--lease {lease_s:g}: must be at least {_LEAST_LEASE_S:g} and at most {_LONGEST_LEASE_S:g}")
    from harness.config.remote_target import find_token
    from harness.config.settings import default_config_dir
    from harness.lab.configuration import load_security, require_packages
    from harness.lab.on_demand.allow_list import load_allow_list
    from harness.lab.on_demand.dispatching import LEASE_S, Dispatcher
    from harness.lab.on_demand.repositories import load_repositories
    from harness.lab.on_demand.request_queue import RequestQueue

    require_packages()
    load_security(certificates)
    settings = dataclasses.replace(arguments.resolve_settings(lab_flags), lab=address, lab_certificates=certificates)
    token = find_token(os.environ, default_config_dir())
    queue = RequestQueue(
        url, token, f"{re.sub(r'[^A-Za-z0-9.-]', '-', socket.gethostname())[:60]}-{uuid.uuid4().hex[:8]}"
    )
    if missing_folder := next((folder for folder in recipes if not folder.is_dir()), None):
        raise UsageError(f"--frameworks-dir {missing_folder}: no such folder", hint="give a folder of recipes")
    allowed = load_allow_list(words, lambda word: arguments.resolve_settings(lab_flags, (word,)))
    with shell.handle_signals(), display.open_display() as shown:
        allowed = dataclasses.replace(
            allowed,
            repositories=load_repositories(repositories, settings.cache_dir, shown),
            recipes=tuple(folder.absolute() for folder in recipes),
        )
        return Dispatcher(queue, allowed, settings, shown, lease_s or LEASE_S).run()


def _make_certificate(host: str, folder: Path | None) -> int:
    if folder is None:
        raise UsageError("the folder of the authority?", hint=f"harness lab certificate {host} --certificates FOLDER")
    from harness.lab.certificates import make_certificate

    own = make_certificate(host, folder)
    lines = (f"copy {own} to {host}, and name it there by --certificates (or --lab-certificates)",)
    for line in (*lines, f"whoever has it can execute programs on every host of the lab; {folder} makes more of them"):
        display.open_console().print(line, markup=False, highlight=False, soft_wrap=True)
    return ExitCode.OK
