"""From a model definition to an ExecuTorch program.

In the harness, `catalogue` finds definitions and recipes, `provenance` determines what makes up an export, and
`exporter` starts it; none of them imports torch. In a process of its own (`process`), `model` makes the module and
`program` lowers and writes it.
"""
