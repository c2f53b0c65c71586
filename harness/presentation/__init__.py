"""Tables, rows, remarks and numbers as words: what screen, HTML, Markdown and alarm reports share."""
