"""Continuous mode: new commits are compared as they come; alarms are verified, searched for culprits and reported.

loop              all of it, one step after the other
branch_poller     finds new commits, whatever network and history do
backlog           puts new commits in order, also after history was rewritten
commit_processor  compares commits and records their outcome, whatever device and disk do
controls          chooses the control of each commit
alarm_lifecycle   takes alarms from suspicion to report
tasks             what the loop has others do: compare, find changes, verify, find culprits
polling           clocks, and pauses that grow with failures
fai_pep_files     the commit file and the status file, as FAI-PEP has them
store/            the state: one SQLite file, one transaction a change
notify/           notifications: outbox and channels
"""
