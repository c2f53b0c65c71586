"""Formats of other tools that more than one room reads: files that are imported, and what programs print.

json_entries   entries of a JSON document or of lines of JSON, each with its line
llama_bench    a test of llama.cpp's llama-bench, and its figures
llama_tables   the layouts in which llama-bench prints tests: JSON, lines of JSON, CSV, SQL and Markdown
"""
