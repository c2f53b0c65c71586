"""What samples mean: summaries, and whether to trust them."""
