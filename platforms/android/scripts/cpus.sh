# Prints what `CpuTopology` reads, as lines of `path:content`.
cpus=/sys/devices/system/cpu
grep -sHE '^[0-9]' $cpus/online $cpus/cpu[0-9]*/cpu_capacity $cpus/cpu[0-9]*/cpufreq/cpuinfo_max_freq
