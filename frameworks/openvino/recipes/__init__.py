"""Recipes of OpenVINO: how a model of torch becomes one of OpenVINO.

Each is a function `convert(module, example_inputs, batches) -> openvino.Model`, which may compress or quantise it;
`batches()` yields the examples to calibrate with. The archive is written by `frameworks.openvino.writing`.
"""
