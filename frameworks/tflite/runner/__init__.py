"""Engine of LiteRT for the runner of `frameworks.python_runner`: it runs in the launched process.

engine.py        the engine: options, and which of the two ways of LiteRT loads a model
interpreter.py   the interpreter of TensorFlow Lite, by LiteRT's Python package
compiled.py      LiteRT's compiled model, by its C interface: half precision, and times of operators
c_api.py         that interface, as far as it is used
"""
