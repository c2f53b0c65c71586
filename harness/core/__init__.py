"""Values, protocols and errors that all other packages share. Imports no other package of the project."""

from typing import Final

DEFAULT_PLATFORM: Final = "host"
"""Platform plug-in that is meant where none is named."""

DICTIONARY_NAME: Final = "<specification"
"""Beginning of the name of a specification that is a dictionary and no file: `<specification>`, `<specification 2>`."""
