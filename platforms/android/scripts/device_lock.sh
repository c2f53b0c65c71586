# Locks a phone against other hosts for as long as this shell lives. Variables: mark, lock, owner, host.
#
# Descriptor 9 belongs to this shell only, because mksh closes it in the programs that it starts, so `flock` is given a
# copy: the lock belongs to both. After `timeout` it is asked once more: the exit status of toybox's does not always say
# what became of the program. A host that gets the lock confirms that it is still there. In mksh, 142 means that nothing
# was read in time.
say() { echo "$mark $*"; }
is_left_over() { # does a shell that this machine left behind hold the lock?
  read -r pid its_owner its_host <"$lock"
  [ "$its_owner" = "$owner" ] && [ "/proc/$pid/fd/9" -ef "$lock" ]
}
[ -e "$lock" ] || { true >>"$lock"; chmod 666 "$lock"; } 2>/dev/null
[ -r "$lock" ] || { say refused; exit 0; }
command -v flock >/dev/null || { say unsupported; exit 0; }
exec 9<"$lock"
if flock -n 8 8<&9; then :
elif is_left_over && kill -9 "$pid" && { timeout 5 flock 8 8<&9; flock -n 8 8<&9; }; then :
else
  say waiting "$its_host"
  flock 8 8<&9 || { say unsupported; exit 0; }
fi 2>/dev/null
{ echo "$$ $owner $host" >"$lock"; } 2>/dev/null
say locked
read -t 30 -r line || exit 0
while :; do
  read -t 15 -r line
  case $? in 0 | 142) echo ;; *) exit 0 ;; esac
done
