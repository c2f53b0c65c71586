"""From a model definition to an ExecuTorch program.

On the harness's side `exporter` asks for it, `provenance` says what determines it, and `catalogue` finds what can be
asked for; none of them imports torch. In a process of its own (`process`), `model` makes the module and `program`
lowers and writes it. `files` names what both sides write and read.
"""
