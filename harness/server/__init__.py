"""The server of results: HTTP API, and the dashboard live. Needs the extra `server`."""
