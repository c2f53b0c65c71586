"""Formats of other tools that more than one room reads: files that are imported, and what programs print.

json_entries   entries of a JSON document or of lines of JSON, each with its line
llama_bench    a test of llama.cpp's llama-bench, and its figures
llama_tables   the layouts in which llama-bench prints tests: JSON, lines of JSON, CSV, SQL and Markdown
mlperf_client  a line of the results of MLPerf Client
"""

from typing import Final

MLPERF_CLIENT_SUCCESS: Final = "Benchmark Success"
"""Name that every line of MLPerf Client has, and no other format: here, since looking for it needs no model of one."""
