"""The jobs of the rig by `distributed` alone: its scheduler, its nannies and its client, with nothing of ours."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from distributed import Client, Nanny, Scheduler, wait

from harness.lab.configuration import configure, load_security
from tests.benchmarks.lab.sleepers import Sleepers, write_diary


def work(text: str) -> int:
    """Run a program on the device of this process."""
    device = os.environ["RIG_DEVICE"]
    write_diary("begin", device)
    done = subprocess.run(("sh", "-c", text), capture_output=True, check=False)
    write_diary("end", device)
    return done.returncode


async def _serve(host: str, port: int, security: object) -> None:
    async with Scheduler(host=host, port=port, security=security, dashboard=False) as scheduler:
        print("serving", flush=True)
        await scheduler.finished()


async def _join(address: str, security: object) -> None:
    nannies = [
        Nanny(
            address,
            nthreads=1,
            name=device.name,
            resources={device.kind: 1},
            memory_limit=0,
            security=security,
            dashboard=False,
            env={"RIG_DEVICE": device.name},
        )
        for device in Sleepers().devices()
    ]
    await asyncio.gather(*nannies)
    print("joined", flush=True)
    await asyncio.gather(*(nanny.finished() for nanny in nannies))


def _run(address: str, security: object, file: Path) -> int:
    texts = json.loads(file.read_text())
    kinds = [f"class {number}" for number in range(int(os.environ["RIG_CLASSES"]))]
    with Client(address, security=security) as client:
        futures = [client.submit(work, text, resources={kind: 1}, pure=False) for text in texts for kind in kinds]
        wait(futures)
        return sum(future.result() != 0 for future in futures)


def main() -> None:
    action, host, port, keys, *rest = sys.argv[1:]
    configure(as_host=True)
    security, address = load_security(Path(keys)), f"tls://{host}:{port}"
    if action == "serve":
        asyncio.run(_serve(host, int(port), security))
    elif action == "join":
        asyncio.run(_join(address, security))
    else:
        sys.exit(_run(address, security, Path(rest[0])))


if __name__ == "__main__":
    main()
