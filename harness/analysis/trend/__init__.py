"""Series of commits: points, and the changes of level that they show."""
