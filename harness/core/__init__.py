"""Pure values, protocols and errors that every other package speaks in. Imports nothing of ours."""
