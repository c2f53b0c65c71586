"""Where runners come from: `choice` decides between `native`, `python` and `prebuilt`.

Runners that are made are kept under `<cache_dir>/runners/<digest>/`, where the digest covers everything that determines
them (`cache`). The native one is compiled (`compiling`) by the tools of this machine (`toolchain`) against the C++ SDK
of the installed package (`wheel`).
"""
