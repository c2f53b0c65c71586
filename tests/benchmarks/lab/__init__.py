"""A lab of many hosts with faults, beside plain Dask: see `tests.benchmarks.lab.rig`."""
