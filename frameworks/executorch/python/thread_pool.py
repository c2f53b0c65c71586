"""The runtime's one pool of threads."""

from __future__ import annotations

from frameworks.executorch.python.extension import Runtime


def use_threads(runtime: Runtime, threads: int | None) -> int:
    """Set the size of the pool, where one is given, and return its size in use.

    Call before a program is loaded: delegates keep a pointer to the pool that was there when they were initialised.
    """
    if threads is not None:
        runtime._unsafe_reset_threadpool(threads)  # noqa: SLF001 - upstream has no public name
    return runtime._threadpool_get_thread_count()  # noqa: SLF001 - upstream has no public name
