"""Results as files: their layout, their JSON form and their index."""
