# Runs one program and reports on it. Lines that begin with the random mark separate reports from the program's output.
#
# Variables: mark, child (script that becomes the program; its arguments are ours), pin (prefix that pins it), limit
# (seconds), workdir, began (file written at its start), watched and stamp (list of watched files and format of their
# stamps), root (prefix that runs a script as root, to drop the page cache before), interactive (it reads our input and
# has no limit here), metered (its energy is wanted), rails (configuration of `perfetto`), trace (file for its output).
# `state`, a function, prints the phone's state; `read_log_clock` is another.
job= recorder=
say() { echo; echo "$mark $1"; }
stop() {
  for leader in "$began.$mark.pid" "$began.$mark.watchdog"; do
    pid=
    { read -r pid <"$leader"; } && kill -9 -"$pid" "$pid"
  done
  [ -n "$job" ] && kill -9 "$job"
  [ -s "$trace.pid" ] && kill -9 "$(cat "$trace.pid")" "$recorder"
}
since_boot() { up=; { read -r up more </proc/uptime; } 2>/dev/null; }

# A child in a session of its own is in nobody's process group, and would take time from the launches after it. It is
# recognised by where it runs: our folder, which is nobody else's while the phone is locked.
stop_orphans() {
  links=
  for process in /proc/[0-9]*; do [ ! -O "$process" ] || links="$links $process/cwd $process/exe"; done
  orphans=$(ls -ld $links 2>/dev/null | while IFS= read -r link; do
    case $link in *" -> $workdir/"*) link=${link%% -> *} link=${link##*/proc/}; echo "${link%/*}" ;; esac
  done | sort -u)
  [ -n "$orphans" ] || return
  names=
  for orphan in $orphans; do
    name=; { read -r name <"/proc/$orphan/comm"; } 2>/dev/null
    names="$names $orphan ($name)"
  done
  echo "ended processes that the program had left running:$names" >&2
  kill -9 $orphans 2>/dev/null
}

# The state takes some hundredths of a second, in which perfetto begins; the pause is for its first reading, without
# which there is no energy. Its trace passes through a pipe, because Android lets `perfetto` open files in its own folder
# only (SELinux).
begin_metering() {
  if [ -n "$rails" ] && command -v perfetto >/dev/null; then
    : >"$trace.pid"
    echo "$rails" | sh -c 'echo $$ >"$0.pid"; exec perfetto --txt -c - -o -' "$trace" 2>/dev/null | cat >"$trace" &
    recorder=$!
  fi
  say before
  state
  [ -z "$recorder" ] || sleep 0.5
}

# Two readings after the program's end; then perfetto writes its trace, through `cat`, which ends after it.
end_metering() {
  [ -n "$recorder" ] || return
  sleep 0.5
  kill -TERM "$(cat "$trace.pid")" 2>/dev/null
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 "$recorder" 2>/dev/null || { rm -f "$trace.pid"; break; }
    sleep 0.1
  done
}

trap 'stop 2>/dev/null; exit 129' HUP INT TERM
if [ "$root" ]; then
  sync
  $root 'echo 3 >/proc/sys/vm/drop_caches' 2>/dev/null || { say unwiped; exit 1; }
fi
# A session is a process group that ends with its leader. `setsid` of Android 11 and 12 (toybox 0.8.3, 0.8.4) leaves the
# leader to itself and ends with 0 at once, unless `-w` lets it wait and end as the leader does; older ones have no `-w`
# and become the leader themselves. Leaders write down who they are, in files of this launch only.
session=setsid
setsid -w true >/dev/null 2>&1 </dev/null && session='setsid -w'
[ -z "$metered" ] || begin_metering
: >"$began"
read_log_clock
say "began $since"
times
since_boot
say "$EPOCHREALTIME $up"
if [ "$interactive" ]; then exec 3<&0; else exec 3</dev/null; fi
$pin $session sh -c 'echo $$ >"$0"'"
$child" "$began.$mark.pid" "$@" <&3 3<&- &
job=$!
if [ -z "$interactive" ]; then
  $session sh -c 'echo $$ >"$0.watchdog"; sleep "$1"; read -r pid <"$0.pid" && kill -9 -"$pid" "$pid"' \
    "$began.$mark" "$limit" >/dev/null 2>&1 </dev/null &
fi
wait $job 2>/dev/null
code=$? job=
now=$EPOCHREALTIME
since_boot
{ read -r pid <"$began.$mark.pid"; } 2>/dev/null || pid=0 # it could not even begin
say "ended $code $pid $now $up"
times
end_metering
for attempt in 1 2 3 4 5 6 7 8 9 10; do # a watchdog that has not begun would outlive the launch
  [ "$interactive" ] || [ -s "$began.$mark.watchdog" ] || sleep 0.02
done
stop 2>/dev/null
rm -f "$began.$mark.pid" "$began.$mark.watchdog"
say after
state
[ "$interactive" ] || stop_orphans
say files
[ -s "$watched" ] && xargs -0 stat -L -c "$stamp" <"$watched" 2>&1 | sha256sum
[ -z "$recorder" ] || { say trace; base64 <"$trace"; rm -f "$trace" "$trace.pid"; }
say done
