"""Control against treatment: what pairs of launches say about their difference, and when they have said enough."""
