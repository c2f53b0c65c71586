"""Control against treatment: the sequential test of pairs of launches, and what is derived from it."""
