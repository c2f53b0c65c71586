"""Recipes of ONNX Runtime: how a model becomes an ONNX file.

Each is a function `export(module, example_inputs, batches, names) -> onnx.ModelProto`; `batches` are examples to
calibrate with, which need not be read, and `names` those of the inputs, empty for the exporter's own.
"""
