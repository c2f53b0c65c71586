"""Bisecting a range of commits for the one that changed a metric."""
