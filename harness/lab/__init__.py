"""The lab: many hosts and devices, on `dask.distributed`.

Scheduling, heart beats, retries, transport and encryption are that library's. What is ours:

jobs            values that travel: what to measure, where, with which files
configuration   settings of the library that suit devices, and the check that it is installed
certificates    an authority of our own, and the certificates of hosts
processes       what the processes of a host are told when they start
tasks           functions that run in the process of a device
host_files      files by their content, as a host keeps them
sending         files on their way to hosts: from the client to one, and from there to the others
answers         why a call in a process brought no answer
progress        what a job says while it runs
scheduler       `harness lab serve`
hosts           `harness lab join`: a process for each device of a host
health          checks of a device, judged by its own earlier ones
pool            why a device gets no jobs, and what persons do about it
quiet_hours     hours in which the devices of a host get no jobs
client          the seam: devices, files, submit, cancel, progress
targets         devices that a command measures on
joining         these devices, in a lab whose hosts may still be joining it
durations       expected durations of jobs, by earlier results
submitting      jobs of one command, from their submission to their answers
measuring       `harness run --lab`
comparing       `harness compare --lab`: batches of pairs of a class of devices
sides           control and treatment, by names and contents that mean the same on every host
commits         comparisons of commits for `harness watch --lab` and `harness bisect --lab`
platform        classes of devices as flows know devices
builds          builds of commits by hosts, each once for everybody
pooling         one comparison of these batches, while it goes on
merging         one report of the reports of batches
batch_files     batches of an interrupted comparison
pairs           a batch, in the process of a device
sharing         what is measured on a host itself runs alone there
on_demand       what persons ask for at a server of results: `harness lab dispatch`
status          `harness lab status`
maintenance     `harness lab withdraw`, `return` and `check`

A process of a device *is* the lease of it: it does one job at a time. The lock of the machine is the second safety
belt.
"""
