"""Power meters beside devices: their traces, the load in a trace, and Monsoon's.

meters       what a meter is: start, stop, samples
steps        the stretch of a trace in which a program ran, and the idling beside it
recording    a launch within a trace, as a reading
monsoon      Monsoon's High Voltage Power Monitor, by its maker's library
"""
