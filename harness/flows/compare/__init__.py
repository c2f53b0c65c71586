"""Comparing control and treatment in pairs of launches."""
