"""Ranking: programs that do the same work, launched in rounds, and told apart by pairs of launches."""
