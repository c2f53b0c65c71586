"""From specification files to benchmarks: load, validate, expand. Pure after loading."""
