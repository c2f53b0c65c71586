# Installs and starts an app, waits for its result, and stops it.
#
# Variables: mark, package, activity, result (file in the app's folder; empty: its lines of the log), workdir, began
# (file written at its start), apk and apk_sha256 (package to install; empty starts what is installed), limit (seconds).
# Its arguments are those of `am start`. `state`, a function, prints the phone's state; `keyguard_is_shown` and
# `read_log_clock` are others.
say() { echo; echo "$mark $1"; }
trap 'am force-stop "$package" >/dev/null 2>&1; exit 129' HUP INT TERM
screen_is_on() { # also where the phone does not tell
  case $(timeout 3 dumpsys power 2>/dev/null | grep -m 1 mWakefulness=) in '' | *=Awake*) ;; *) return 1 ;; esac
}
since_boot() { up=; { read -r up more </proc/uptime; } 2>/dev/null; }
elapse() { # elapsed: whole seconds; by the time since boot where it can be read, because the network sets the clock
  since_boot
  elapsed=$SECONDS
  [ -z "$up" ] || elapsed=$((${up%.*} - started))
}
find_installed() { # base: the installed package; stamp: changes with every installation
  base=$(pm path "$package" 2>/dev/null) base=${base#package:}
  stamp="$base $(stat -c '%i %s %Y' "$base" 2>/dev/null)"
}
record_installed() {
  find_installed
  mkdir -p "$workdir/apps" && echo "$apk_sha256 $stamp" >"$workdir/apps/$package"
}
log() { logcat -d -v threadtime -T "$since" 2>/dev/null | grep " $pid "; }
screen_is_on || { say dark; exit 1; }
keyguard_is_shown && { say locked; exit 1; }
find_installed
if [ -n "$apk" ]; then
  ours= recorded= sum=
  [ -r "$workdir/apps/$package" ] && read -r ours recorded <"$workdir/apps/$package"
  if [ "$recorded" = "$stamp" ]; then sum=$ours
  else
    sum=$({ sha256sum <"$base"; } 2>/dev/null) sum=${sum%% *}
    [ -z "$sum" ] || [ "$sum" != "$ours" ] || [ "$sum" != "$apk_sha256" ] || record_installed
  fi
  if [ "$sum" != "$apk_sha256" ]; then
    [ -z "$base" ] || [ -n "$sum" -a "$sum" = "$ours" ] || { say foreign; exit 1; }
    answer=$(pm install -r -t "$apk" 2>&1)
    case $answer in *Success*) ;; *) echo "$answer" >&2; say uninstalled; exit 1 ;; esac
    record_installed
  fi
fi
[ -n "$base" ] || { say missing; exit 1; }
: >"$began"
[ -z "$result" ] || run-as "$package" rm -f "$result" || { say closed; exit 1; }
read_log_clock
pid= seen= how=late
since_boot
say "began $since $EPOCHREALTIME $up"
answer=$(am start -W -S -n "$package/$activity" "$@" 2>&1)
case $answer in *Error*) echo "$answer" >&2; how=unstarted limit=0 ;; esac
since_boot
SECONDS=0 started=${up%.*}
while elapse; [ "$elapsed" -lt "$limit" ]; do
  now=$(pidof "$package") && pid=${now%% *}
  if [ -n "$result" ]; then
    new=$(run-as "$package" stat -c '%s %y' "$result" 2>/dev/null)
    case $new in
    '' | '0 '*) ;;
    "$seen") how=done; break ;;
    *) seen=$new; sleep 0.5; continue ;; # it may still be written, whether or not its process was seen
    esac
  elif [ -n "$pid" ] && log | grep BENCHMARK_DONE >/dev/null; then how=done; break
  fi
  [ -n "$now" ] || [ -z "$pid" -a "$elapsed" -lt 3 ] || { how=gone; break; } # it may not have appeared yet
  sleep 0.5
done
[ "$how" != late ] || pidof "$package" >/dev/null || how=gone
now=$EPOCHREALTIME
since_boot
[ "$how" != done ] || screen_is_on || how=dark
say "ended $how ${pid:-0} $now $up"
if [ "$how" != done ]; then :
elif [ -n "$result" ]; then run-as "$package" cat "$result"
else log
fi
am force-stop "$package" >/dev/null 2>&1
say after
state
say done
