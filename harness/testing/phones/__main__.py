"""Stand-in phones for a person: `python -m harness.testing.phones --phones 2`, and then `... unplug 0`."""

from __future__ import annotations

import argparse
import sys
import time

from harness.core.errors import ExitCode, HarnessError
from harness.testing.phones import control, start_phones
from harness.testing.phones.android.binaries import find_binaries


def main() -> int:
    """Keep phones running until Ctrl-C, do something to phones that run, or fetch their programs only."""
    parser = argparse.ArgumentParser(prog="python -m harness.testing.phones", description=__doc__)
    parser.add_argument("--fetch", action="store_true", help="only make sure that the programs are there")
    parser.add_argument("--phones", type=int, default=1, metavar="N", help="how many to start")
    parser.add_argument("--rooted", action="store_true", help="run adbd as root, and provide su")
    parser.add_argument("--api", type=int, default=34, help="Android's API level")
    parser.add_argument("--abi", choices=("x86_64", "arm64-v8a"), help="what the phones execute")
    parser.add_argument("--product", action="append", default=[], help="what a phone is, for each in turn: `Pixel 8`")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions on phones that run")
    control.add_parsers(actions)
    options = parser.parse_args()
    try:
        if options.action is not None:
            return control.run_action(options)
        if options.fetch:
            print(find_binaries().adbd)
            return ExitCode.OK
        with (
            start_phones(
                options.phones,
                rooted=options.rooted,
                api=options.api,
                abi=options.abi,
                products=options.product,
            ) as lab,
            control.serve(lab) as path,
        ):
            print("".join(f"{phone.serial}\n" for phone in lab.phones), end="")
            adb = f"HARNESS_ADB_SERVER={lab.server} ANDROID_ADB_SERVER_PORT={lab.port}"
            print(f"export {adb} {control.VARIABLE}={path}", flush=True)
            while True:
                time.sleep(3600)
    except HarnessError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
