"""From a model in torch to an ExecuTorch program.

In the harness, `exporter` starts the process that makes it (`process`); there `program` lowers the model and writes the
program with its graph.
"""
