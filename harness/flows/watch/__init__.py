"""Watching a repository: comparing new commits, detecting changes, reporting alarms."""
