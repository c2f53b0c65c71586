#!/system/bin/sh
# Android's services as far as a benchmark harness uses them, over plain files under /services that tests may edit.
# One script under many names. Unknown commands fail with Android's messages and exit status.
# Messages and formats: frameworks/base (ThermalManagerService, BatteryService, PowerManagerShellCommand, SettingsService,
# ActivityManagerShellCommand, PackageManagerShellCommand), frameworks/native/cmds/{cmd,dumpsys}, system/core.

me=${0##*/}
state=/services

value() { # value FILE [DEFAULT]: the content of a file of the services
  if [ -e "$state/$1" ]; then print -r -- "$(<"$state/$1")"; else print -r -- "$2"; fi
}

keep() { # keep FILE VALUE: replace the content of a file of the services
  typeset file=$state/$1
  mkdir -p "${file%/*}"
  print -r -- "$2" > "$file"
}

api() { value properties/ro.build.version.sdk 34; }
is_root() { [ "$(id -u)" = 0 ]; }
fail() { # fail STATUS MESSAGE...
  typeset status=$1
  shift
  print -ru2 -- "$*"
  exit "$status"
}

restart_phone() {
  print -r -- "$1" > /dev/.reboot
  sleep 60 # until the reboot ends this process
}

# --- properties -------------------------------------------------------------------------------------------------------

getprop_() {
  typeset file
  if [ $# -gt 0 ]; then value "properties/$1" "$2"; return; fi
  for file in "$state"/properties/*; do print -r -- "[${file##*/}]: [$(<"$file")]"; done
}

setprop_() {
  [ $# -eq 2 ] || fail 1 "setprop: Need 2 arguments"
  if [ "$1" = sys.powerctl ]; then restart_phone "$2"; fi
  case $1 in
  ro.*) [ ! -e "$state/properties/$1" ] || refuse_property "$@" ;;
  debug.* | log.* | persist.log.* | persist.traced.* | security.perf_harden) ;;
  *) is_root || refuse_property "$@" ;;
  esac
  keep "properties/$1" "$2"
}

refuse_property() {
  print -ru2 -- "Failed to set property '$1' to '$2'."
  fail 1 "See dmesg for error reason."
}

# --- log --------------------------------------------------------------------------------------------------------------

log_() { # log [-p PRIORITY] [-t TAG] WORDS...
  typeset priority=i tag=log option
  while getopts p:t: option; do
    case $option in p) priority=$OPTARG ;; t) tag=$OPTARG ;; *) exit 1 ;; esac
  done
  shift $((OPTIND - 1))
  typeset -u letter=${priority%"${priority#?}"}
  typeset now=$(date '+%m-%d %H:%M:%S.%N')
  printf '%s %5d %5d %s %-8s: %s\n' "${now%??????}" "$PPID" "$PPID" "$letter" "$tag" "$*" >> "$state/log"
}

logcat_() {
  typeset dump=no since= last= pid= priority=V clear=no word
  while [ $# -gt 0 ]; do
    case $1 in
    -d) dump=yes ;;
    -c | --clear) clear=yes ;;
    -T | -t)
      [ "$1" = -t ] && dump=yes
      case $2 in *:*) since=$2 ;; *) last=$2 ;; esac
      shift ;;
    --pid) pid=$2; shift ;;
    --pid=*) pid=${1#*=} ;;
    -v | -b | --buffer | --format) shift ;;
    -v* | -b* | --buffer=* | --format=* | -D | -s) ;;
    \*:?) priority=${1#*:} ;;
    *:?) ;;
    *) fail 1 "logcat: unknown option $1" ;;
    esac
    shift
  done
  if [ $clear = yes ]; then : > "$state/log"; return; fi
  print -r -- "--------- beginning of main"
  if [ -n "$last" ]; then tail -n "$last" "$state/log"; else cat "$state/log"; fi | chosen_lines
  [ $dump = yes ] || exec tail -n 0 -f "$state/log"
}

chosen_lines() { # filter by process $pid, time $since and least $priority
  typeset day time process thread letter rest order=VDIWEFS
  while read -r day time process thread letter rest; do
    [ -z "$pid" ] || [ "$process" = "$pid" ] || continue
    [[ "$day $time" < "$since" ]] && continue
    typeset lower=${order%%"$priority"*}
    [[ $lower = *"$letter"* ]] && continue
    printf '%s %s %5d %5d %s %s\n' "$day" "$time" "$process" "$thread" "$letter" "$rest"
  done
}

# --- dumpsys ----------------------------------------------------------------------------------------------------------

dumpsys_() {
  while [ $# -gt 0 ]; do
    case $1 in
    -l) printf 'Currently running services:\n'; printf '  %s\n' $(services); return ;;
    -t | -T) shift 2 ;;
    *) break ;;
    esac
  done
  typeset service=$1
  [ $# -gt 0 ] && shift
  case " $(services) " in *" $service "*) "dumpsys_$service" "$@" ;; *) print -ru2 "Can't find service: $service" ;; esac
}

services() {
  typeset all="battery power wifi window"
  [ "$(api)" -ge 29 ] && all="$all thermalservice"
  print -r -- "$all"
}

charge() { # charge FIELD: what the battery service reports: what `dumpsys battery set` chose, or else what is
  value "battery/override/$1" "$(value "battery/$1")"
}

yes_no() { if "$@"; then print true; else print false; fi; }

dumpsys_battery() {
  case $1 in
  unplug) keep battery/override/plugged 0; keep battery/override/status 3; return ;;
  set) keep "battery/override/${2/#ac/plugged}" "$3"; return ;;
  reset) rm -rf "$state/battery/override"; return ;;
  "") ;;
  *) print -r -- "Unknown option: $1"; return ;;
  esac
  typeset plugged=$(charge plugged)
  print -r -- "Current Battery Service state:"
  [ -e "$state/battery/override" ] && print -r -- "  (UPDATES STOPPED -- use 'reset' to restart)"
  print -r -- "  AC powered: $(yes_no [ "$plugged" = 1 ])"
  print -r -- "  USB powered: $(yes_no [ "$plugged" = 2 ])"
  print -r -- "  Wireless powered: $(yes_no [ "$plugged" = 4 ])"
  [ "$(api)" -ge 33 ] && print -r -- "  Dock powered: false"
  print -r -- "  Max charging current: $([ "$plugged" = 0 ] && print 0 || print 500000)"
  print -r -- "  Max charging voltage: $([ "$plugged" = 0 ] && print 0 || print 5000000)"
  print -r -- "  Charge counter: $(charge charge_counter)"
  print -r -- "  status: $(charge status)"
  print -r -- "  health: $(charge health)"
  print -r -- "  present: true"
  print -r -- "  level: $(charge level)"
  print -r -- "  scale: 100"
  print -r -- "  voltage: $(charge voltage)"
  print -r -- "  temperature: $(charge temperature)"
  print -r -- "  technology: Li-ion"
}

dumpsys_power() {
  print -r -- "POWER MANAGER (dumpsys power)"
  print
  print -r -- "Power Manager State:"
  print -r -- "  mWakefulness=$(value wakefulness Awake)"
  print -r -- "  mIsPowered=$(yes_no [ "$(charge plugged)" != 0 ])"
  print -r -- "  mPlugType=$(charge plugged)"
  print -r -- "  mBatteryLevel=$(charge level)"
  print -r -- "  mStayOn=$(yes_no [ "$(value settings/global/stay_on_while_plugged_in 0)" != 0 ])"
  print -r -- "  mStayOnWhilePluggedInSetting=$(value settings/global/stay_on_while_plugged_in 0)"
  print -r -- "Display Power: state=$([ "$(value wakefulness Awake)" = Awake ] && print ON || print OFF)"
}

dumpsys_window() {
  typeset locked=$(value locked false)
  [ "$1" = policy ] || [ "$1" = p ] || [ $# -eq 0 ] || fail 1 "Bad window command, or no windows match: $1"
  print -r -- "WINDOW MANAGER POLICY STATE (dumpsys window policy)"
  print -r -- "    KeyguardServiceDelegate"
  print -r -- "      showing=$locked"
  print -r -- "      showingAndNotOccluded=$locked"
  print -r -- "      inputRestricted=$locked"
  print -r -- "      occluded=false"
  print -r -- "      secure=$locked"
}

dumpsys_wifi() {
  if [ "$(value settings/global/wifi_on 1)" = 0 ]; then print "Wi-Fi is disabled"; else print "Wi-Fi is enabled"; fi
}

dumpsys_thermalservice() {
  typeset status=$(value thermal/override "$(value thermal/status 0)") skin=$(value thermal/skin_c) cpu=$(value thermal/cpu_c)
  typeset battery=$(charge temperature)
  typeset cold="[NaN, NaN, NaN, NaN, NaN, NaN, NaN]"
  print -r -- "IsStatusOverride: $(yes_no [ -e "$state/thermal/override" ])"
  printf 'ThermalEventListeners:\n\tcallbacks: 2\n\tkilled: false\n\tbroadcasts count: -1\n'
  printf 'ThermalStatusListeners:\n\tcallbacks: 3\n\tkilled: false\n\tbroadcasts count: -1\n'
  print -r -- "Thermal Status: $status"
  print -r -- "Cached temperatures:"
  temperatures
  printf 'HAL Ready: true\nHAL connection:\n'
  if [ "$(api)" -ge 34 ]; then printf '\tThermalHAL AIDL 1  connected: yes\n'
  else printf '\tThermalHAL 2.0 connected: yes\n'; fi
  print -r -- "Current temperatures from HAL:"
  temperatures
  print -r -- "Current cooling devices from HAL:"
  printf '\tCoolingDevice{mValue=%s, mType=2, mName=thermal-cpufreq-0}\n' "$status"
  print -r -- "Temperature static thresholds from HAL:"
  [ ! -s "$state/thermal/no_thresholds" ] || return 0 # as on some phones: its status tells nothing
  printf '\tTemperatureThreshold{mType=3, mName=VIRTUAL-SKIN, mHotThrottlingThresholds=%s, mColdThrottlingThresholds=%s}\n' \
    "[NaN, 39.0, 43.0, 45.0, 46.5, 52.0, 55.0]" "$cold"
  printf '\tTemperatureThreshold{mType=2, mName=battery, mHotThrottlingThresholds=%s, mColdThrottlingThresholds=%s}\n' \
    "[NaN, NaN, NaN, NaN, NaN, NaN, 60.0]" "$cold"
}

temperatures() {
  printf '\tTemperature{mValue=%s, mType=3, mName=VIRTUAL-SKIN, mStatus=%s}\n' "$skin" "$status"
  printf '\tTemperature{mValue=%s, mType=0, mName=BIG, mStatus=0}\n' "$cpu"
  printf '\tTemperature{mValue=%d.%d, mType=2, mName=battery, mStatus=0}\n' $((battery / 10)) $((battery % 10))
}

# --- cmd --------------------------------------------------------------------------------------------------------------

cmd_() {
  typeset service=$1 action=$2
  [ $# -gt 0 ] && shift
  case $service in
  package) pm_ "$@" ;;
  activity) am_ "$@" ;;
  settings) settings_ "$@" ;;
  power) cmd_power "$@" ;;
  connectivity) cmd_connectivity "$@" ;;
  thermalservice) [ "$(api)" -ge 29 ] || fail 20 "cmd: Can't find service: $service"; cmd_thermalservice "$@" ;;
  -l) services ;;
  "") fail 20 "cmd: No service specified; use -l to list all services" ;;
  *) fail 20 "cmd: Can't find service: $service" ;;
  esac
}

unknown_command() { print -r -- "Unknown command: $1"; exit 255; }

cmd_power() {
  case $1 in
  set-fixed-performance-mode-enabled)
    [ "$(api)" -ge 30 ] || unknown_command "$1"
    if [ -e "$state/no-fixed-performance" ]; then
      print -ru2 "Failed to set FIXED_PERFORMANCE mode"
      fail 255 "This is likely because Power HAL AIDL is not implemented on this device"
    fi
    case $2 in
    true | false) keep fixed_performance "$2" ;;
    "") fail 255 "Error: Argument expected after \"$1\"" ;;
    *) keep fixed_performance false ;;
    esac ;;
  stayon) settings_ put global stay_on_while_plugged_in "$([ "$2" = false ] && print 0 || print 15)" ;;
  *) unknown_command "$1" ;;
  esac
}

cmd_thermalservice() {
  case $1 in
  override-status) keep thermal/override "$2" ;;
  reset) rm -f "$state/thermal/override" ;;
  *) unknown_command "$1" ;;
  esac
}

cmd_connectivity() {
  [ "$1" = airplane-mode ] || unknown_command "$1"
  case $2 in
  enable) settings_ put global airplane_mode_on 1 ;;
  disable) settings_ put global airplane_mode_on 0 ;;
  "") [ "$(value settings/global/airplane_mode_on 0)" = 1 ] && print enabled || print disabled ;;
  *) unknown_command "$2" ;;
  esac
}

# --- settings, screen, radios -----------------------------------------------------------------------------------------

settings_() {
  typeset verb=$1 space=$2 key=$3
  case $verb in
  get | put | delete | list) ;;
  *) fail 255 "Invalid command: $verb" ;;
  esac
  case $space in
  global | system | secure) ;;
  *) fail 255 "Invalid namespace '$space'" ;;
  esac
  typeset file
  case $verb in
  list) for file in "$state/settings/$space"/*; do [ -e "$file" ] && print -r -- "${file##*/}=$(<"$file")"; done; return 0 ;;
  esac
  [ -n "$key" ] || fail 255 "Bad arguments"
  case $verb in
  get) value "settings/$space/$key" null ;;
  put) [ $# -ge 4 ] || fail 255 "Bad arguments"; keep "settings/$space/$key" "$4" ;;
  delete)
    typeset count=0
    [ -e "$state/settings/$space/$key" ] && rm "$state/settings/$space/$key" && count=1
    print -r -- "Deleted $count rows" ;;
  esac
}

svc_() {
  case "$1 $2" in
  "power stayon") cmd_power stayon "$3" ;;
  "power reboot") restart_phone "$3" ;;
  "wifi enable") settings_ put global wifi_on 1 ;;
  "wifi disable") settings_ put global wifi_on 0 ;;
  *) print -ru2 "Available commands:"; print -ru2 "    help     Show information about the subcommands" ;;
  esac
}

input_() {
  [ "$1" = keyevent ] || fail 255 "Error: Unknown command: $1"
  typeset now=$(value wakefulness Awake)
  case $2 in
  KEYCODE_WAKEUP | WAKEUP | 224) keep wakefulness Awake ;;
  KEYCODE_SLEEP | SLEEP | 223) keep wakefulness Asleep ;;
  KEYCODE_POWER | POWER | 26) keep wakefulness "$([ "$now" = Awake ] && print Asleep || print Awake)" ;;
  esac
}

# --- packages and apps ------------------------------------------------------------------------------------------------

packages() {
  { ls "$state/packages"; ls /data/app-hooks; } 2> /dev/null | sort -u
}

has_package() { [ -e "$state/packages/$1" ] || [ -e "/data/app-hooks/$1" ]; }

pm_() {
  typeset verb=$1 name
  [ $# -gt 0 ] && shift
  case $verb in
  list)
    [ "$1" = packages ] || fail 255 "Error: unknown list type '$1'"
    shift
    while [[ $1 = -* ]]; do shift; done
    for name in $(packages); do [[ $name = *"$1"* ]] && print -r -- "package:$name"; done
    return 0 ;;
  path) has_package "$1" || exit 1; print -r -- "package:/data/app/$1/base.apk" ;;
  install)
    for name in "$@"; do :; done
    [ -e "$name" ] || fail 255 "Error: Unable to open file: $name"
    typeset package=${name##*/}
    package=${package%.apk}
    if [ -e "$state/no-installing" ]; then print "Failure [$(<"$state/no-installing")]"; exit 1; fi
    mkdir -p "/data/app/$package" && cp "$name" "/data/app/$package/new" || exit 1
    mv -f "/data/app/$package/new" "/data/app/$package/base.apk"
    keep "packages/$package" 1.0
    print Success ;;
  uninstall)
    for name in "$@"; do :; done
    has_package "$name" || { print "Failure [DELETE_FAILED_INTERNAL_ERROR]"; exit 1; }
    rm -rf "$state/packages/$name" "/data/app-hooks/$name" "/data/data/$name" "/data/app/$name"
    print Success ;;
  clear) has_package "$1" || { print Failed; exit 1; }; rm -rf "/data/data/$1"; print Success ;;
  *) unknown_command "$verb" ;;
  esac
}

am_() {
  typeset verb=$1
  [ $# -gt 0 ] && shift
  case $verb in
  start | start-activity) am_start "$@" ;;
  force-stop) while kill -KILL $(pidof "$1") 2> /dev/null; do sleep 0.01; done; return 0 ;;
  *) unknown_command "$verb" ;;
  esac
}

APP='package=$1 script=$2; shift 2; exec -a "$package" /system/bin/sh "$script" "$@"' # named as an app is

behaviour() { # behaviour PACKAGE: the script that plays it: that of a test, or the package itself where it is a script
  typeset apk=/data/app/$1/base.apk start
  if [ -e "/data/app-hooks/$1" ]; then print -r -- "/data/app-hooks/$1"
  elif [ -e "$apk" ] && read -rN 2 start < "$apk" && [ "$start" = '#!' ]; then print -r -- "$apk"
  fi
}

am_start() {
  typeset component= wait=no stop=no extras= word all
  set -A all -- "$@"
  while [ $# -gt 0 ]; do
    case $1 in
    -n) component=$2; shift ;;
    -W) wait=yes ;;
    -S) stop=yes ;;
    --e? | --e??) extras=" (has extras)"; shift 2 ;;
    -a | -d | -f | -c | -t | --user) shift ;;
    esac
    shift
  done
  typeset package=${component%%/*}
  print -r -- "Starting: Intent { cmp=$component$extras }"
  if ! has_package "$package"; then
    print -r -- "Error type 3"
    print -r -- "Error: Activity class {${component/\/.//$package.}} does not exist."
    exit 1
  fi
  [ $stop = yes ] && am_ force-stop "$package"
  mkdir -p "/data/data/$package/files"
  typeset script=$(behaviour "$package")
  if [ -n "$script" ]; then
    (cd "/data/data/$package" && exec setsid /system/bin/sh -c "$APP" sh "$package" "$script" "${all[@]}" < /dev/null > /dev/null 2>&1) &
  fi
  [ $wait = yes ] || return 0
  printf 'Status: ok\nLaunchState: COLD\nActivity: %s\nTotalTime: 312\nWaitTime: 315\nComplete\n' "$component"
}

run_as() {
  typeset package=$1
  [ -n "$package" ] || fail 1 "usage: run-as <package-name> [--user <uid>] <command> [<args>]"
  has_package "$package" || fail 1 "run-as: unknown package: $package"
  shift
  mkdir -p "/data/data/$package/files"
  cd "/data/data/$package" || exit 1
  if [ $# -eq 0 ]; then exec /system/bin/sh; fi
  exec "$@"
}

# --- kernel -----------------------------------------------------------------------------------------------------------

taskset_() { # the phone has eight CPUs; where this machine has fewer, several of the phone's share one of its own
  typeset all=
  while [[ $1 = -* ]]; do
    case $1 in -p) all="$all -p"; shift; [ $# -eq 1 ] && exec toybox taskset $all "$1" ;; *) all="$all $1"; shift ;; esac
  done
  typeset asked=$((16#${1#0x})) real=$(value real_cpus 1) folded=0 cpu
  shift
  print -r -- "$(printf %x $asked)" >> "$state/taskset"
  [ $((asked & 255)) -ne 0 ] || fail 1 "taskset: sched_setaffinity: Invalid argument"
  for cpu in 0 1 2 3 4 5 6 7; do
    [ $((asked >> cpu & 1)) = 1 ] && folded=$((folded | 1 << cpu % real))
  done
  exec toybox taskset $all "$(printf %x $folded)" "$@"
}

su_() { # su [WHO [COMMAND...]]
  [ "$1" = -c ] && { shift; exec /system/bin/sh -c "$@"; }
  [ $# -gt 0 ] && shift
  [ "$1" = -c ] && { shift; exec /system/bin/sh -c "$@"; }
  if [ $# -eq 0 ]; then exec /system/bin/sh; fi
  exec "$@"
}

perfetto_() { # writes the trace that a test gave, when its time is over or a signal ends it
  typeset output= config= background=no duration
  while [ $# -gt 0 ]; do
    case $1 in
    -o | --out) output=$2; shift ;;
    -c | --config) config=$2; shift ;;
    -t | --time) duration=$2; shift ;;
    -d | --background | -D | --background-wait) background=yes ;;
    esac
    shift
  done
  [ -n "$output" ] || fail 1 "Either --out or --upload is required"
  [ -e "$state/perfetto-trace" ] || fail 1 "Could not connect to the traced socket /dev/socket/traced_consumer"
  typeset words=
  [ "$config" = - ] && words=$(cat)
  [ -n "$config" ] && [ "$config" != - ] && words=$(cat "$config")
  duration=${duration%s}
  [[ $words = *duration_ms:* ]] && words=${words#*duration_ms:} && words=${words# } && duration=$((${words%%[!0-9]*} / 1000))
  if [ $background = yes ]; then
    (exec < /dev/null > /dev/null 2>&1; perfetto_trace "${duration:-3600}" "$output") & # exec: a background function would keep copies of the streams
    print -r -- "$!"
  else
    perfetto_trace "${duration:-3600}" "$output"
  fi
}

perfetto_trace() { # perfetto_trace SECONDS FILE
  trap 'kill $! 2> /dev/null' TERM INT
  sleep "$1" &
  wait $!
  trap '' TERM INT
  if [ "$2" = - ]; then cat "$state/perfetto-trace"; else cat "$state/perfetto-trace" > "$2"; fi
}

reboot_() { restart_phone "$1"; }

case $me in
run-as) run_as "$@" ;;
*) "${me}_" "$@" ;;
esac
