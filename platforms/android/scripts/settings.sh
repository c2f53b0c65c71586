# Reads, changes and restores settings of a phone, as the lines of its input request.
#
# Every answer is one line. A setting is a kind and a name; words have no spaces (changes.py, the only caller, sends
# nothing else). Nothing here is for one phone maker.
set -f
failed=
frequencies="/sys/devices/system/cpu/cpufreq"

current() { # kind name: what it is now; `unseen` when it can be set and not be read
  case $1 in
  global | system | secure) settings get "$1" "$2" ;;
  cpufreq) cat "$frequencies/$2" ;;
  airplane)
    case $(settings get global airplane_mode_on) in
    1) echo enabled ;;
    0 | null) echo disabled ;;
    esac
    ;;
  screen)
    case $(dumpsys power | grep -m 1 mWakefulness=) in
    *=Awake*) echo on ;;
    *=*) echo off ;;
    esac
    ;;
  fixed_performance)
    case $(dumpsys power | grep -im 1 'fixed_\{0,1\}performance') in
    *=true*) echo true ;;
    *=false*) echo false ;;
    *) echo unseen ;;
    esac
    ;;
  esac 2>/dev/null
}

assign() { # kind name value
  case $1 in
  global | system | secure)
    if [ "$3" = null ]; then settings delete "$1" "$2"; else settings put "$1" "$2" "$3"; fi
    ;;
  cpufreq) printf '%s\n' "$3" >"$frequencies/$2" ;;
  airplane) cmd connectivity airplane-mode "${3%d}" ;;
  screen) if [ "$3" = on ]; then input keyevent KEYCODE_WAKEUP; else input keyevent KEYCODE_SLEEP; fi ;;
  fixed_performance) cmd power set-fixed-performance-mode-enabled "$3" ;;
  esac 2>&1
}

reach() { # kind name value: set it and look, because not everything that refuses says so; the reason in $why
  why=$(assign "$1" "$2" "$3")
  status=$?
  for pause in 0.1 0.2 0.4 0.8 1.6; do
    now=$(current "$1" "$2")
    case $now in
    "$3") return 0 ;;
    unseen) return "$status" ;;
    esac
    case $1 in screen | airplane) sleep "$pause" ;; *) return 1 ;; esac
  done
  return 1
}

put() { # kind name before ours
  if reach "$1" "$2" "$4"; then
    answer put "$1" "$2" done
    return
  fi
  refusal="${why:-it stays $now}"
  case $now in
  "$3" | unseen) ;;
  *) reach "$1" "$2" "$3" ;; # half a change is none
  esac
  answer put "$1" "$2" refused "$refusal"
}

back() { # kind name before ours
  now=$(current "$1" "$2")
  case $now in
  "$3") answer back "$1" "$2" done ;;
  "$4" | unseen)
    if reach "$1" "$2" "$3"; then answer back "$1" "$2" done
    else fail "$1" "$2" "${why:-it stays $now}"; fi
    ;;
  '') fail "$1" "$2" 'it cannot be read' ;;
  *) answer back "$1" "$2" kept "$now" ;;
  esac
}

fail() { # kind name why: with this, the log stays
  failed=yes
  answer back "$1" "$2" failed "$3"
}

answer() { # words, the last of which may be any text; in one line
  set -- $*
  printf '%s\n' "$*"
}

clocks() {
  set +f
  grep -sHE . "$frequencies"/policy*/scaling_governor "$frequencies"/policy*/scaling_m??_freq \
    "$frequencies"/policy*/scaling_available_* "$frequencies"/policy*/stats/time_in_state \
    "$frequencies"/policy*/cpuinfo_m??_freq | while read -r line; do printf 'clock %s\n' "${line#"$frequencies"/}"; done
  set -f
}

record() { # one line of the log; nothing is changed that is not in it
  printf '%s\n' "$1" >>"$journal.new" && return
  answer record failed "$journal"
  exit 3
}

forget() { # journal run: unless something is left to be put back, or the log is another run's by now
  [ "$failed" ] && return
  read -r header <"$1"
  case $header in *" $2") rm -f "$1" ;; esac
} 2>/dev/null

keep() { # after this a phone that loses its power has the log
  fsync "$journal.new" 2>/dev/null
  chmod 644 "$journal.new" && mv -f "$journal.new" "$journal" && return
  answer record failed "$journal"
  exit 3
}

while read -r verb rest; do
  case $verb in
  get) answer get $rest "$(current $rest </dev/null)" ;;
  put | back) $verb $rest </dev/null ;;
  clocks) clocks </dev/null ;;
  api) answer api "$(getprop ro.build.version.sdk </dev/null)" ;;
  show) if [ -e "$rest" ]; then while read -r line; do printf 'shown %s\n' "$line"; done <"$rest"; fi ;;
  journal)
    journal=$rest
    mkdir -p "${journal%/*}" 2>/dev/null
    rm -f "$journal.new"
    ;;
  record) record "$rest" 2>/dev/null ;;
  keep) keep </dev/null ;;
  forget) forget "${rest% *}" "${rest##* }" </dev/null ;;
  esac
done
echo end
