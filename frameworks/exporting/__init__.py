"""From a model definition to a model file: what the exporters of all frameworks share.

In the harness, `catalogue` finds definitions and recipes, `provenance` determines what makes up an export, and
`exporter` starts the process that makes it; none of them imports torch. In that process (`child`), `models` makes the
module, with the same weights for every framework, and the framework writes its file.
"""
