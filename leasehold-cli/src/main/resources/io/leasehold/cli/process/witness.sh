# Says which signals reached the whole process group: it is in the group and catches what Leasehold catches.
#
#   stdin    the end of it means: leave
#   stdout   "READY", then the name of each signal that came
trap 'echo INT' INT
trap 'echo TERM' TERM
trap 'echo HUP' HUP
trap 'echo USR1' USR1
trap '' QUIT USR2 PIPE
echo READY
while :; do
  # A status above 1 is a signal that interrupted the reading.
  read -r _
  if [ $? -eq 1 ]; then exit 0; fi
done
