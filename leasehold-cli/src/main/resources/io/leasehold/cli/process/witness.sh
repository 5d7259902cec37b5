# Reports which signals reached the whole process group: it belongs to the group and catches the signals that Leasehold catches.
#
#   stdin    a line asks for "SAID"; at end of file the script exits
#   stdout   "READY", then the name of each signal, and "SAID" for each line: a signal that arrived before the line is named before it
for name in INT TERM HUP USR1; do
  # shellcheck disable=SC2064 # the present value of name
  trap "echo $name; caught=yes" "$name"
done
trap '' QUIT USR2 PIPE
echo READY
while :; do
  caught=
  # A signal interrupts read; the status in dash is then 1, as at end of file.
  if read -r _; then
    echo SAID
  elif [ -z "$caught" ]; then
    exit 0
  fi
done
