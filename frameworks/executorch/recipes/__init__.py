"""Recipes: the functions that lower a model to an ExecuTorch program.

    lower(module, example_inputs, calibration) -> EdgeProgramManager

A recipe gets the module in evaluation mode, a tuple of example tensors, and an iterable of tuples like them, which only
recipes with static quantisation read, once. It may change the module. A specification names it by the entry point of an
installed package (group `edge_harness.executorch.recipes`), as ours in `pyproject.toml`, or as
`package.module:function`.
"""
