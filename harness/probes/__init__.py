"""What probes of several platforms share; the probes themselves belong to the platforms that they run on.

options      options of a probe, from a specification or a command line
exit_status  commands under tools that hide how their program ended
counters     counted events, of a launch and of one iteration
sampling     launches that are long enough for samples, and what is kept of a profile
stacks       sampled stacks: functions, a tree, folded stacks, in bounded memory
"""
