"""Commands as lists of stages, and the only place where the stage packages meet.

    measure/   run            measure once              worker           one device's share of a run
               workload       what a command loads      queues, jobs     what each device measures next
               plan           benchmarks on devices     fetching         files into the cache
               reporting      results to reporters      runners          installed, given or built from a commit
    compare/   compare        control against treatment scheduler        one device's share: pairs in turn
               comparison_run one comparison            journal          its pairs on disk
               requests       the command line          source_fetcher   each source fetched once per command
               discoveries    regressions held back     reports          results of comparisons
               progress_rows  what a person watches     batch            several commits
               reevaluate     stored pairs, decided     commits          for watch and bisect
               self_check     a runner against itself   sensitivity      what comparisons here can show
               layouts        links of the control      layout_floors    what they differ by, kept
    watch/     watch          the continuous mode       worker           comparing, verifying, searching
               searches       searches of alarms, saved
               alarm_reports  builds the reports of alarms
    bisect/    bisect         search for a culprit      search           its queries answered with real pairs
               merges         inside merges
    foreign/   importing      files of other tools      results          their records as results of ours
    inspect/   the commands that look without measuring

Threads: `run` and `compare` start one for each device; its measurements and their reports happen in it.
Exceptions: an error of one benchmark (`BenchmarkFailed`, a defect) becomes its result; an error of a device
(`DeviceLost`, `EnvironmentProblem` on opening it) becomes the result of all benchmarks left on it; the user's mistakes
and interruptions end the command.
"""
