"""`harness history`: a store of results as a folder of pages that needs no server."""
