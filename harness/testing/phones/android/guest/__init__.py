"""Code that runs inside the namespaces of a phone, with the standard library only."""
