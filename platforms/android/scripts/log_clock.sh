# Defines `read_log_clock`, which sets `since` to now in logcat's format: to the millisecond where the shell knows it,
# since whole seconds would include how the program before died.
read_log_clock() {
  before=$EPOCHREALTIME fraction=
  since=$(date '+%m-%d %H:%M:%S')
  case $EPOCHREALTIME in "${before%.*}".*) fraction=${before#*.} fraction=${fraction%???} ;; esac # in the same second
  since="$since.${fraction:-000}"
}
