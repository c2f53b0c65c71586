"""Probes of phones, by the tools that Android has.

simpleperf         whether it is here and may observe programs, without changing the phone
simpleperf_stat    counted events
simpleperf_record  sampled stacks
perfetto           traces of the whole phone
"""
