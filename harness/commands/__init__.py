"""Commands of `harness`, as functions whose parameters are the flags. `harness.cli` lists them, and loads them late."""
