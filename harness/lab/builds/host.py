"""Process of a host that builds for others, beside those of its devices."""

from __future__ import annotations

import hashlib
import pickle
import socket
from collections.abc import Mapping, Sequence
from typing import Final

from harness import plugins
from harness.builders.toolchain import find_toolchain
from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.core.protocols import is_local
from harness.lab.builds.orders import build_resource, toolchain_resource
from harness.lab.processes import BUILDS_VARIABLE, ServedBuilds

NAME: Final = "builds"


def build_resources(platforms: Sequence[str], settings: Settings) -> Mapping[str, float]:
    """Return what the process of a host has that can build for platforms: for its own kind where it is measured itself.

    It has each once more with the name of its toolchain.

    Raises:
        UsageError: There is no such platform.
    """
    resources: dict[str, float] = {}
    for name in platforms:
        platform = plugins.platform(name, settings)
        if not is_local(platform):
            resources[f"build-{platform.name}"] = 1
            continue
        for device in platform.devices():
            resources[build_resource(platform, device)] = 1
    if platforms and not resources:
        raise UsageError(f"--builds {' '.join(platforms)}: this machine builds for none of them")
    toolchain = find_toolchain().digest if platforms else ""
    return {**resources, **{toolchain_resource(name, toolchain): 1.0 for name in resources}}


def build_environment(settings: Settings) -> Mapping[str, str]:
    """Return the environment of the process."""
    served = ServedBuilds(
        cache_dir=settings.cache_dir.absolute(), settings=pickle.dumps(settings), toolchain=find_toolchain().digest
    )
    return {BUILDS_VARIABLE: served.model_dump_json()}


def process_name(settings: Settings) -> str:
    """Return the name of the process: one of a host and cache is enough, and a second one is refused."""
    text = f"{socket.gethostname()} {settings.cache_dir.absolute()}"
    return f"{NAME}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
