"""ExecuTorch's Python extension as an engine of the runner in `frameworks.python_runner`.

It is the fallback where there is no compiler: its arguments and output are those of the native runner. OpenVINO, where
a delegate has loaded it, is told by the precision `unknown`; operators cannot be timed.
"""
