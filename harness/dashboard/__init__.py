"""The dashboard: pages of a store of results, the same live (`harness.server`) and as files (`harness history`)."""
