"""Continuous mode: new commits are compared as they come; alarms are verified, searched for culprits and reported.

loop              all of it, one step after the other
branch_poller     finds new commits, whatever network and history do
new_commits       puts new commits in order, also after history was rewritten
rewritten_history what becomes of measured commits and alarms then
commit_processor  compares commits and records their outcome, whatever device and disk do
measuring_again   puts commits into the backlog once more
controls          chooses the control of each commit
control_troubles  controls that cannot be built or measured
trends            what the series show, each point read once
alarm_lifecycle   takes alarms from suspicion to report
tasks             what the loop has others do: compare, find changes, verify, find culprits
timing            clocks, and pauses that grow with failures
fai_pep_files     the commit file and the status file, as FAI-PEP has them
store/            the state: one SQLite file, one transaction a change
notify/           notifications: outbox and channels
"""
