"""Observations in the output of runners, for every framework; plug-ins of other packages may use it too.

observer       `parse_lines`: observations and notes from the text that a program wrote
converters     `parse_files`: the same from output files, by the converters that a specification names; `parse_step`:
               the same from what steps on the host print
forms          the JSON objects and documents that are understood
token_streams  figures of generations from time stamps of their tokens: every definition
token_lines    tokens of programs that print the time of each in lines of their own form
mlperf_client  figures of MLPerf Client's results
collector      samples, summaries, texts and tables, gathered while they are read
"""
