"""A project of CMake whose program tells a latency, and works on arm64 only."""

from __future__ import annotations

CMAKELISTS = """cmake_minimum_required(VERSION 3.19)
project(thing LANGUAGES C)
add_executable(runner thing.c)
"""
_PROGRAM = r"""
#include <stdio.h>
#define LINE "PyTorchObserver {\"type\": \"NET\", \"metric\": \"latency\", \"unit\": \"us\", \"value\": \"%d\"}\n"
int main(void) {
  for (int i = 0; i < 12; ++i)
    printf(LINE, MICROSECONDS);
#if !defined(__aarch64__)
  return 1;
#endif
}
"""


def source_of(latency_us: int) -> str:
    """Return the content of `thing.c`."""
    return f"#define MICROSECONDS {latency_us}\n{_PROGRAM}"
