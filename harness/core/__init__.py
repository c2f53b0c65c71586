"""Values, protocols and errors that all other packages share. Imports no other package of the project."""
