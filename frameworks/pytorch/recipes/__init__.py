"""Recipes of PyTorch: how a model becomes a file.

Each is a function `write(module, example_inputs) -> bytes`. The file is a zip archive of torch; besides what torch
needs it says what the inputs are, so that a runner needs neither the definition nor the request.
"""
