"""Server of results: an HTTP API that reporters post to, and the pages of the dashboard, in one process."""
