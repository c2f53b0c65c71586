"""Views of the database: a reader of histories. One module for each group of views, and `History` joins them."""

from harness.store.database.views.reader import History as History
