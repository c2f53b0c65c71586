"""The continuous mode: new commits are compared as they come, alarms are verified, traced and told.

records     the values                                  work        what the loop asks others to do
database    the SQLite file below the state             claim       one watcher for one state
state       the file's tables, one transaction a change
commits     which commits wait, run and are done        points      what was measured of them
alarms      what was raised, and searches for culprits  letters     what is to be told
notebook    small facts, and what happened
backlog     which commits come next                     controls    what each is held against
polling     when to look for new commits                switch      how a person stops it: the status file
following   finding new commits, whatever network and history do
taking      comparing them, whatever device and disk do
patience    writing on a disk that may be full
pursuit     alarms from suspicion to the culprit
outbox      telling, again and again until it worked    couriers    by whom: command_courier, hook_courier
commit_file FAI-PEP's file with the last commit         status      what a person sees
loop        all of it, one step after the other
"""
