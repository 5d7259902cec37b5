# Says which signals reached the whole process group: it is in the group and catches what Leasehold catches.
#
#   stdin    a line asks whether all has been said; the end of it means: leave
#   stdout   "READY", then the name of each signal that came, and "SAID" for each line: a signal that came before it was named before
for name in INT TERM HUP USR1; do
  # shellcheck disable=SC2064 # the name of now
  trap "echo $name; caught=yes" "$name"
done
trap '' QUIT USR2 PIPE
echo READY
while :; do
  caught=
  # A signal interrupts the reading; dash calls that 1, which is also the end.
  if read -r _; then
    echo SAID
  elif [ -z "$caught" ]; then
    exit 0
  fi
done
