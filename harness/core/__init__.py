"""Values, protocols and errors that all other packages share. Imports no other package of the project."""

from typing import Final

DEFAULT_PLATFORM: Final = "host"
"""Platform plug-in that is meant where none is named."""
