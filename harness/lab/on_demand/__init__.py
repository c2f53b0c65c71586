"""Runs on demand: what persons ask for at a server of results, measured in a lab.

allow_list      specifications that persons may ask for
repositories    repositories of whose commits they may ask for runs
request_queue   client of the queue, which the server keeps
leases          a request is one lab's as long as that renews its lease
request_runs    a request, from its claim to its end
delivery        results on their way to the server
dispatching     `harness lab dispatch`
"""
