"""Statistics: summaries of samples, their quality, comparisons, searches and trends."""
