"""Measuring benchmarks: plan, fetch, build, measure, report."""
