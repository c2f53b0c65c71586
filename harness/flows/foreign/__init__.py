"""`harness import`: files of other tools become results, marked as measured elsewhere.

sources     files, archives and standard input, with limits
results     records of a file as results of ours
importing   the command
"""
