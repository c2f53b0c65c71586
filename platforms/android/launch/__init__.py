"""Programs and apps on a phone: CPUs, start, report, log."""
