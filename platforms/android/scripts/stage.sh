# Takes in files that were sent, links them into a benchmark's folder, and prints the hashes of those that are new in
# this session, then the stamps of all watched files. Arguments: workdir, session folder, benchmark folder, format of
# stamps. Input: for each file two lines, `new` or `old` and its location in the store, and its path for programs.
workdir=$1 session=$2 folder=$3 stamp=$4
each() { list=$1; shift; [ ! -s "$list" ] || xargs -0 "$@" <"$list"; }
list() { print -rn -- "$1"; print -n '\0'; }
cd "$workdir" && mkdir -p store programs "$folder" || exit 1
for item in "$session"/incoming/*/*; do
  [ -e "$item" ] || continue
  kind=${item%/*} kind=${kind##*/}
  rm -rf "$kind/${item##*/}" && mv -f "$item" "$kind/" || exit 1
done
rm -rf "$session/incoming"
: >"$session/new"
while read -r new location && IFS= read -r path; do
  [ "$new" = old ] || list "$location" >>"$session/new"
  list "$path" >>"$session/watched"
  case $location in store/*) ;; *) continue ;; esac
  case ${path#"$folder/"} in */*) mkdir -p "${path%/*}" ;; esac
  ln -sf "$workdir/$location" "$path" || exit 1
done
each "$session/new" touch -c
each "$session/new" sha256sum
echo '[stamps]'
each "$session/watched" stat -L -c "$stamp"
echo '[state]'
