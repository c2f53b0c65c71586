"""Stand-in iPhones for a person: `python -m harness.testing.phones.ios --phones 2`, then lines such as `unplug 1`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import ExitCode, HarnessError
from harness.testing.phones import start_iphones
from harness.testing.phones.ios.apps.packages import SHELL_BUNDLE, shell_app
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone

Act = Callable[[StandInIPhone, str], None]


def _set_battery(phone: StandInIPhone, percent: str) -> None:
    phone.conditions.battery_percent = float(percent)


def _save_power(phone: StandInIPhone, word: str) -> None:
    phone.conditions.low_power_mode = word != "off"


def _heat(phone: StandInIPhone, state: str) -> None:
    if state not in {"nominal", "fair", "serious", "critical"}:
        raise ValueError("one of nominal, fair, serious, critical")
    phone.heat(state)


def _fill(phone: StandInIPhone, bytes_left: str) -> None:
    phone.fill(int(bytes_left))


def _simple(method: Callable[[StandInIPhone], None]) -> Act:
    return lambda phone, _: method(phone)


ACTIONS: Final[Mapping[str, tuple[str, Act]]] = {
    "unplug": ("pull its cable", _simple(StandInIPhone.unplug)),
    "plug": ("put the cable back", _simple(StandInIPhone.plug)),
    "distrust": ("forget every computer, and trust none", _simple(StandInIPhone.distrust)),
    "trust": ("trust this computer", _simple(StandInIPhone.trust)),
    "lock": ("hide it behind its passcode", _simple(StandInIPhone.lock)),
    "unlock": ("enter its passcode", _simple(StandInIPhone.unlock)),
    "freeze": ("answer nothing, with open connections", _simple(StandInIPhone.freeze)),
    "thaw": ("answer again", _simple(StandInIPhone.thaw)),
    "restart": ("restart it", _simple(StandInIPhone.restart)),
    "heat": ("set its thermal state: `heat 0 serious`", _heat),
    "battery": ("set its charge in percent: `battery 0 12`", _set_battery),
    "low-power": ("switch low power mode on, or `low-power 0 off`", _save_power),
    "fill": ("leave so many bytes of room: `fill 0 1000000`", _fill),
    "mend": ("undo everything", _simple(StandInIPhone.mend)),
}
"""What can be done to a phone: what happens, and how. The word behind the phone's number is the action's own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep iPhones running, and obey lines of standard input, until it ends or Ctrl-C."""
    names = "\n".join(f"  {name:10} {text}" for name, (text, _) in ACTIONS.items())
    parser = argparse.ArgumentParser(
        prog="python -m harness.testing.phones.ios",
        description=f"{__doc__}\n\nLines of standard input, each with the number of a phone, from 0:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--phones", type=int, default=1, metavar="N", help="how many to start")
    parser.add_argument("--version", default="16.7.10", help="version of iOS; from 17 on it is reached by a tunnel")
    parser.add_argument("--install", type=Path, action="append", default=[], metavar="IPA", help="an app to install")
    options = parser.parse_args(arguments)
    try:
        with start_iphones(options.phones, version=options.version) as lab:
            _install(lab, options.install)
            print("".join(f"{phone.model.udid}\n" for phone in lab.phones), end="")
            variables = {"HARNESS_USBMUXD": lab.usbmuxd, "HARNESS_IOS_APP": SHELL_BUNDLE, **lab.environment}
            if lab.tunnel is not None:
                variables["HARNESS_IOS_TUNNEL"] = lab.tunnel
            print("export", *(f"{name}={value}" for name, value in variables.items()), flush=True)
            for line in sys.stdin:
                print(obey(lab, line), flush=True)
    except HarnessError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        return ExitCode.OK
    return ExitCode.OK


def obey(lab: IPhoneLab, line: str) -> str:
    """Do what a line says, and return what a person reads."""
    words = line.split()
    try:
        action, number, argument = (*words, "")[:3] if len(words) > 1 else (words[0], "", "")
        _, act = ACTIONS[action]
        act(lab.phones[int(number)], argument)
    except (ValueError, KeyError, IndexError) as error:
        return f"not done: {line.strip()!r} ({error}); for example: unplug 0"
    return f"done: {line.strip()}"


def _install(lab: IPhoneLab, packages: Sequence[Path]) -> None:
    """Install packages on every phone, and the shell app, which the harness can start anything with."""
    for phone in lab.phones:
        phone.install(shell_app(phone.folder))
        for package in packages:
            phone.install(package)


if __name__ == "__main__":
    sys.exit(main())
