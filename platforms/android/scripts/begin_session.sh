# Makes the folder of a session and lists what is stored; removes the folders of killed sessions, which nobody uses
# while the phone is locked. Arguments: workdir, name of the session. Prints free space, stored files, and CPUs.
mkdir -p "$1/store" "$1/programs" "$1/sessions" && cd "$1" || exit 1
for left in sessions/*; do rm -rf "$left"; done
mkdir "sessions/$2" || exit 1
df -k . 2>/dev/null
stat -c '%s %Y %n' store/* programs/*/* 2>/dev/null
echo '[cpus]'
