"""`harness store` and `harness query`: what is in a database of results, how it gets there, and what leaves it."""
