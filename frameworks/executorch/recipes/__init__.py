"""Recipes: the functions that lower a model to an ExecuTorch program.

    lower(module, example_inputs, calibration) -> EdgeProgramManager

A recipe gets the module in evaluation mode, a tuple of example tensors, and an iterable of tuples like them, which only
recipes with static quantisation read, once. It may change the module. A specification names it by the entry point of an
installed package (group `edge_harness.executorch.recipes`), as ours in `pyproject.toml`, or as
`package.module:function`.

The module of a recipe called `lower` may define its two steps as functions of their own. They are then what is called,
and the program between both can be run by torch and examined: it is the one that is lowered.

    quantise(module, example_inputs, calibration) -> ExportedProgram, where the recipe quantises
    export_program(module, example_inputs) -> ExportedProgram, where it does not (default: `capture` of `exporting`)
    lower_program(program) -> EdgeProgramManager
"""
