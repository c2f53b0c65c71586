"""Measuring benchmarks: plan, examine devices, fetch, build, export, measure, report."""
