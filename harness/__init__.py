"""edge-harness: how fast is this model on this device, and can the number be believed."""

__version__ = "0.1.0"
