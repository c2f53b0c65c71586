# Sets `root` to the words that run a script as root; empty where that is not possible.
#
# Android's own `su` takes a user and a command, Magisk's a line after `-c`. Both leave the standard input alone.
# An app on the phone may put the second question to a person, who is given time to answer it.
root=
if [ "$(id -u)" = 0 ]; then root='sh -c'
elif [ "$(timeout 5 su 0 id -u </dev/null 2>/dev/null)" = 0 ]; then root='su 0 sh -c'
elif [ "$(timeout 30 su -c 'id -u' </dev/null 2>/dev/null)" = 0 ]; then root='su -c'
fi
