"""Files on a phone: content-addressed store, working folder, eviction."""
