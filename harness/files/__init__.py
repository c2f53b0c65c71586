"""Files that several threads and processes share: written whole, identified by digest, locked.

atomic      a file is there whole or not at all, and on the disk where losing it would cost more than time
drafts      names for what is not finished yet, and removal of what killed processes left
writability whether a folder can be written, tried
reading     regular files of bounded size, named by somebody else
digests     MD5 and SHA-256 of files, folders and named texts
locks       exclusive and shared locks that end with the process that holds them
streams     standard streams that cannot be written to

Written through to the disk (fsync, `durable=True`) before a write is reported as done: results and their index,
reports of alarms, what waits to be sent, the commit where a watcher goes on, what must be undone on a phone, and files
of the model cache, whose content is not looked at again. Everything else can be made again: builds, self-checks, pages
about a run, how far a search is.
"""
