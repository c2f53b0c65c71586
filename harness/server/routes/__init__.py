"""Routes of the server: the API, and the pages."""
