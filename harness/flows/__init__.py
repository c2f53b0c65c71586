"""What the commands do: each flow is a list of stages, and the only place where the stage packages meet.

    run           measure once                        worker      one device's share of a run
    compare       control against treatment           rounds      one device's share: a pair of each benchmark in turn
      requests    what the command line asks for      contest     one comparison while it runs
      sides       where both runners come from        journal     its pairs on disk
      standings   what a person watches               recomputed  stored verdicts again
      self_check  a runner against itself
      series      several commits, one after the other    concluded, recalled   what is told, and was told before
    watch         the continuous mode                   bisect      the search for a culprit
      commits     compared for who goes on with it        search      the search with real pairs
      watch_work  what the loop asks for                  signs       points, and what series of them show
      alarm_reports  a page for each alarm                status      what a watcher is at
    exports, checks, devices, reports, builds, doctor, first_run  the other commands
    plan, shares, jobs, lowering, reporting, showing              what flows share

Threads: `run` and `compare` start one for each device; its measurements, and what is told of them, happen in it.
Exceptions: what concerns one benchmark (`BenchmarkFailed`, a defect) becomes its result; what concerns a device
(`DeviceLost`, `EnvironmentProblem` on opening it) becomes the result of all that are left on it; the user's mistakes
and interruptions end the command.
"""
