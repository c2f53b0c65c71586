"""Files on a phone: content-addressed store and working folders."""
