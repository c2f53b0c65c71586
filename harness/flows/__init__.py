"""What the commands do: each flow is a list of stages, and the only place where the stage packages meet."""
