"""The program go-ios as a client of iPhones, from Linux and from Macs.

program    finding it, checking its version, running it with a time limit
messages   what it logs, and why it failed
refusals   its failures as errors of the harness
causes     causes of failures that it does not name, and pairing
documents  what it prints, as values
words      checks of what is passed to it
files, battery, crash_reports, system_log, xctests
           calls that take more than a command and its answer
client     all calls

It is run once for each call: it has no library, and its server would have to be supervised. Its exit status, log and
output were read in its source (1.2.0, MIT licence) and recorded from it.
"""
