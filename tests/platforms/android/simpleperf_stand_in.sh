#!/system/bin/sh
# Prints what simpleperf prints, by its source, starts its program as it does, and hides how that ended, as it does.
# Like simpleperf it switches security.perf_harden off, and leaves it so.
command=$1; shift
setprop security.perf_harden 0
case $command in
stat | record)
  output= events=task-clock
  while :; do
    case $1 in
    -o) output=$2; shift 2 ;;
    -e) events=$2; shift 2 ;;
    -f | --call-graph) shift 2 ;;
    --csv) shift ;;
    *) break ;;
    esac
  done
  "$@"
  [ -n "$output" ] || exit 0
  if [ $command = record ]; then
    echo PERFILE2 >"$output"
  else
    {
      echo 'Performance counter statistics,'
      case $events in *task-clock*) echo '12.345600(ms),task-clock,0.9,CPUs utilized,(100%),' ;; esac
      case $events in *page-faults*) echo '321,page-faults,26.001,K/sec,(100%),' ;; esac
      case $events in *instructions*) echo '98765432,instructions,1.2,cycles per instruction,(52%),' ;; esac
      echo 'Total test time,0.013717,seconds,'
    } >"$output"
  fi
  exit 0
  ;;
report-sample)
  while [ $# -gt 0 ]; do
    case $1 in
    -o) output=$2; shift ;;
    esac
    shift
  done
  cat >"$output" <<END
sample:
  event_type: cpu-clock
  time: 23677683670
  event_count: 2004008
  thread_id: 3052
  thread_name: runner
  vaddr_in_file: 402316
  file: /data/local/tmp/runner
  symbol: conv(float*)
  callchain:
    vaddr_in_file: 401000
    file: /apex/com.android.runtime/lib64/bionic/libc.so
    symbol: __libc_init
sample:
  event_type: cpu-clock
  time: 23679683670
  event_count: 2004008
  thread_id: 3052
  thread_name: runner
  vaddr_in_file: 7f00
  file: [kernel.kallsyms]
  symbol: finish_task_switch
END
  ;;
*) echo "simpleperf E command.cpp: malformed command line" >&2; exit 1 ;;
esac
