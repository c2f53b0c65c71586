"""Model definitions: the functions that make the models to export.

A definition takes the request's options as keyword arguments and returns the module with its example inputs. A
specification names it by the entry point of an installed package (group `edge_harness.definitions`), as
ours in `pyproject.toml`, or as `package.module:function`.
"""
