"""Making and choosing runners: `choice` decides between the native one, the Python one and programs that the user gave.

Runners that are made are kept in `<cache_dir>/runners/<digest>/`, where the digest covers everything that determines
them (`cache`). `native` compiles with the tools of this machine (`toolchain`) against the C++ SDK of the installed
package (`wheel`).
"""
