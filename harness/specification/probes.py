"""Requests for probes: `probes` of a test, FAI-PEP's `profiler`, and those of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.core.probe import ProbeRequest
from harness.specification.file_format import ProbeEntry, ProfilerEntry, Test

_TRUE = (True, "true")


def request_probes(test: Test, further: Sequence[ProbeRequest]) -> tuple[ProbeRequest, ...]:
    """Return the probes of a test, then the further ones, each name once: the last request for a name counts."""
    return tuple({request.name: request for request in (*_read_probes(test), *further)}.values())


def _read_probes(test: Test) -> Iterator[ProbeRequest]:
    for entry in test.probes:
        if isinstance(entry, ProbeEntry):
            yield ProbeRequest(name=entry.name, types=entry.types, options=entry.options)
        else:
            yield ProbeRequest(name=entry)
    profiler = ProfilerEntry(enabled=test.profiler) if isinstance(test.profiler, (bool, str)) else test.profiler
    if profiler is not None and profiler.enabled in _TRUE:
        yield ProbeRequest(
            name=profiler.profiler or "",
            types=profiler.types,
            options=profiler.options,
            stat=profiler.stat in _TRUE,
        )
