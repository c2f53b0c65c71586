"""Starting programs and apps on a phone."""
