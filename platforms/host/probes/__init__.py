"""Probes of this machine, by `perf` of the Linux kernel.

perf         the tool: whether it is here, and may observe programs
perf_stat    counted events
perf_record  sampled stacks
"""
