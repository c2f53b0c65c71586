# Prints one block for `read_state`. Needs no root, and leaves no names behind.
#
# The kernel comes first: clocks fall within some ten milliseconds after a program, which is what the rest takes.
# Two calls of system services (some ten milliseconds each; three seconds at most when the system hangs) and one `grep`
# over the kernel's files. Thermal zones are read only where there is no thermal service (before Android 10): reading
# them may wake sensors.
(
  cpus=/sys/devices/system/cpu
  echo '[kernel]'
  grep -sHE '^(cpu|MemAvailable:|-?[0-9])' /proc/loadavg /proc/stat /proc/meminfo \
    /proc/uptime /sys/power/suspend_stats/success \
    $cpus/cpu[0-9]*/cpufreq/scaling_cur_freq $cpus/cpufreq/policy*/related_cpus $cpus/cpufreq/policy*/stats/time_in_state
  echo '[battery]'
  timeout 3 dumpsys battery | grep -E '^ *([A-Za-z]+ powered|present|health|level|scale|voltage|temperature|Charge counter):|STOPPED'
  echo '[thermal]'
  heat=$(timeout 3 dumpsys thermalservice | grep -E '[Ss]tatus|emperature|hotThrottling')
  printf '%s\n' "$heat"
  echo '[zones]'
  case $heat in *mValue=*) ;; *) grep -sHE '^-?[0-9]' /sys/class/thermal/thermal_zone*/temp ;; esac
  echo '[end]'
) 2>/dev/null </dev/null
