"""Views of the database: a reader of histories. One module for each group of views, and `History` joins them."""
