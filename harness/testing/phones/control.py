"""Control of stand-in phones from another process: what happens to them while somebody tests a laboratory.

`python -m harness.testing.phones` listens at a socket, and prints its path as `STAND_IN_PHONES`; the same command with
an action, such as `unplug 0`, carries it out there. One line of JSON each way.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone

VARIABLE: Final = "STAND_IN_PHONES"
"""Names the socket of the running phones."""
EVERY: Final = "all"
"""Stands for every phone in place of a number or serial."""

_ANSWER_S: Final = 60.0
_ROOM_BYTES: Final = 8 << 30
Values = Mapping[str, str]


class Parameter(NamedTuple):
    """A parameter of an action.

    Attributes:
        name: Its name; the flag is the same with two dashes.
        help: What it means.
        required: Whether it must be given.
    """

    name: str
    help: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done to a phone.

    Attributes:
        help: What happens.
        act: Does it, with the values of its parameters.
        parameters: Its parameters.
    """

    help: str
    act: Callable[[StandInPhone, Values], None]
    parameters: tuple[Parameter, ...] = ()


def _set_battery(phone: StandInPhone, values: Values) -> None:
    level, celsius, plugged = (values.get(name) for name in ("level", "temperature", "plugged"))
    phone.set_battery(
        level=None if level is None else int(level),
        temperature_c=None if celsius is None else float(celsius),
        plugged=None if plugged is None else _parse_yes_no(plugged),
    )


def _heat(phone: StandInPhone, values: Values) -> None:
    cpu = values.get("cpu")
    phone.set_thermal(
        status=int(values.get("status", "3")),
        skin_c=float(values.get("skin", "47")),
        cpu_c=None if cpu is None else float(cpu),
    )


_SIMPLE_ACTIONS: Final[Mapping[str, tuple[str, Callable[[StandInPhone], None]]]] = {
    "unplug": ("pull its cable", StandInPhone.unplug),
    "plug": ("put the cable back", StandInPhone.plug),
    "offline": ("answer the adb server no more, which lists it as offline", StandInPhone.go_offline),
    "online": ("answer the adb server again", StandInPhone.come_online),
    "freeze": ("hang: adbd stands still, the connection stays", StandInPhone.freeze),
    "thaw": ("hang no more", StandInPhone.thaw),
    "blind": ("report no thermal limits", StandInPhone.hide_thermal_limits),
    "see": ("report thermal limits again", StandInPhone.show_thermal_limits),
    "lock": ("show the lock screen", StandInPhone.lock),
    "unlock": ("show the lock screen no more", StandInPhone.unlock),
    "sleep": ("sleep: the screen is off, and adbd stands still", StandInPhone.fall_asleep),
    "wake": ("wake up; the kernel has counted the sleep", StandInPhone.wake_up),
    "unauthorise": ("forget that this computer may debug it", StandInPhone.unauthorise),
    "authorise": ("allow this computer to debug it", StandInPhone.authorise),
}
"""Actions without parameters: what happens, and the method that does it."""


def _action(help_text: str, method: Callable[[StandInPhone], None]) -> Action:
    return Action(help_text, lambda phone, _: method(phone))


ACTIONS: Final[Mapping[str, Action]] = {
    **{name: _action(*action) for name, action in _SIMPLE_ACTIONS.items()},
    "reboot": Action(
        "switch it off, and on after some seconds",
        lambda phone, values: phone.reboot(float(values.get("seconds", "1"))),
        (Parameter("seconds", "how long it is off (default 1)"),),
    ),
    "heat": Action(
        "make it too warm",
        _heat,
        (
            Parameter("status", "Android's thermal status, 0 to 6 (default 3)"),
            Parameter("skin", "degrees Celsius of its skin (default 47)"),
            Parameter("cpu", "degrees Celsius of its processor"),
        ),
    ),
    "cool": Action("make it cool", lambda phone, _: phone.set_thermal(status=0, skin_c=30.5, cpu_c=38.0)),
    "battery": Action(
        "change its battery",
        _set_battery,
        (
            Parameter("level", "charge in percent"),
            Parameter("temperature", "degrees Celsius"),
            Parameter("plugged", "whether it charges: yes or no"),
        ),
    ),
    "boot": Action("be still booting, until `booted`", lambda phone, _: phone.set_booted(False)),
    "booted": Action("have booted", lambda phone, _: phone.set_booted(True)),
    "fill": Action(
        "leave so much space on /data",
        lambda phone, values: phone.fill(int(values["left"])),
        (Parameter("left", "bytes that stay free", required=True),),
    ),
    "empty": Action("have space on /data again", lambda phone, _: phone.fill(_ROOM_BYTES)),
    "cut": Action(
        "break the connection, once, after so many more bytes",
        lambda phone, values: phone.cut_connection_after(int(values["bytes"])),
        (Parameter("bytes", "bytes in both directions together", required=True),),
    ),
}


@contextlib.contextmanager
def serve(lab: PhoneLab) -> Iterator[Path]:
    """Obey requests for the phones of a lab until the context ends. Yields the socket, which is only this user's."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answer = _carry_out(lab, self.rfile.readline())
            with contextlib.suppress(OSError):
                self.wfile.write(json.dumps(answer).encode() + b"\n")

    with tempfile.TemporaryDirectory(prefix="stand-in-") as folder:
        path = Path(folder) / "control"
        with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()


def request(path: Path, action: str, phone: str, values: Values) -> Sequence[str]:
    """Let running phones carry out an action.

    Args:
        path: Their socket.
        action: One of `ACTIONS`, or `list`.
        phone: Number or serial of a phone, or `all`.
        values: Values of its parameters.

    Returns:
        Lines for a person: the serials and states of the phones afterwards.

    Raises:
        UsageError: There is no such phone, or a value is invalid.
        EnvironmentProblem: No phones run there, or the action failed.
    """
    line = json.dumps({"action": action, "phone": phone, "values": dict(values)}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            connection.connect(str(path))
            connection.sendall(line)
            with connection.makefile("rb") as reader:
                answer: dict[str, object] = json.loads(reader.readline() or b"{}")
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"no stand-in phones answer at {path}: {error}", hint="start them: python -m harness.testing.phones"
        ) from error
    if "mistake" in answer:
        raise UsageError(str(answer["mistake"]))
    if "states" not in answer:
        raise EnvironmentProblem(f"{action} failed: {answer.get('error', 'there is no answer')}")
    states = answer["states"]
    return [str(state) for state in states] if isinstance(states, list) else []


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command line of every action."""
    listing = subparsers.add_parser("list", help="show the phones and their states")
    listing.set_defaults(phone=EVERY)
    for name, action in ACTIONS.items():
        parser = subparsers.add_parser(name, help=action.help)
        parser.add_argument("phone", help="number of a phone (from 0), its serial, or `all`")
        for parameter in action.parameters:
            parser.add_argument(f"--{parameter.name}", help=parameter.help, required=parameter.required)


def run_action(options: argparse.Namespace) -> ExitCode:
    """Carry out the action of a command line on the phones that `STAND_IN_PHONES` names.

    Raises:
        UsageError: As for `request`, or the variable is not set.
        EnvironmentProblem: As for `request`.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        raise UsageError(f"{VARIABLE} is not set", hint="start phones, and paste the line that they print")
    parameters = ACTIONS[options.action].parameters if options.action in ACTIONS else ()
    given = {parameter.name: getattr(options, parameter.name) for parameter in parameters}
    values = {name: value for name, value in given.items() if value is not None}
    print("\n".join(request(Path(path), options.action, options.phone, values)))
    return ExitCode.OK


def _carry_out(lab: PhoneLab, line: bytes) -> dict[str, object]:
    try:
        message = json.loads(line)
        phones = _select(lab, str(message["phone"]))
        if message["action"] != "list":
            for phone in phones:
                ACTIONS[message["action"]].act(phone, message["values"])
        states = lab.states()
        return {
            "states": [
                f"{number} {phone.serial} {states.get(phone.serial, 'absent')}"
                for number, phone in enumerate(lab.phones)
                if phone in phones
            ]
        }
    except (ValueError, KeyError, UsageError) as error:
        return {"mistake": str(error)}
    except OSError as error:
        return {"error": str(error)}


def _select(lab: PhoneLab, name: str) -> Sequence[StandInPhone]:
    if name == EVERY:
        return lab.phones
    chosen = [phone for number, phone in enumerate(lab.phones) if name in {str(number), phone.serial}]
    if not chosen:
        serials = ", ".join(phone.serial for phone in lab.phones)
        raise UsageError(f"no phone {name}", hint=f"there are: {serials}")
    return chosen


def _parse_yes_no(word: str) -> bool:
    if word not in {"yes", "no"}:
        raise UsageError(f"--plugged {word}: yes or no")
    return word == "yes"
