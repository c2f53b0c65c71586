"""Stand-in phones for a person: `python -m harness.testing.phones --phones 2`."""

from __future__ import annotations

import argparse
import sys
import time

from harness.core.errors import ExitCode
from harness.testing.phones import StandInUnavailable, start_phones
from harness.testing.phones.android.binaries import find_binaries


def main() -> int:
    """Keep phones running until Ctrl-C, or fetch their programs only."""
    parser = argparse.ArgumentParser(prog="python -m harness.testing.phones", description=__doc__)
    parser.add_argument("--fetch", action="store_true", help="only make sure that the programs are there")
    parser.add_argument("--phones", type=int, default=1, metavar="N", help="how many to start")
    parser.add_argument("--rooted", action="store_true", help="run adbd as root, and provide su")
    parser.add_argument("--api", type=int, default=34, help="Android's API level")
    parser.add_argument("--abi", choices=("x86_64", "arm64-v8a"), help="what the phones execute")
    options = parser.parse_args()
    try:
        if options.fetch:
            print(find_binaries().adbd)
            return ExitCode.OK
        with start_phones(options.phones, rooted=options.rooted, api=options.api, abi=options.abi) as lab:
            print("".join(f"{phone.serial}\n" for phone in lab.phones), end="")
            print(f"export HARNESS_ADB_SERVER={lab.server} ANDROID_ADB_SERVER_PORT={lab.port}", flush=True)
            while True:
                time.sleep(3600)
    except StandInUnavailable as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
