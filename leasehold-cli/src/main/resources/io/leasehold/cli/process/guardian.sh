# Ends everything that one run started if Leasehold itself was killed or fell silent.
#
#   $1       the run's mark, which everything it started carries in its environment
#   $2       how long it may take to end in good order once Leasehold is gone, in milliseconds
#   stdin    lines: "child PID [GROUP]", "deadline N" (kill when the up-time clock, in 1/100 s, reaches N),
#            "calm" (no deadline), "life FILE" (gets an "e" once all has ended after Leasehold has gone), "done" (leave); the end
#            of it means that Leasehold is gone
#   stdout   "fired" when it has killed
mark=$1
grace=$(($2 / 10))
child=
group=
deadline=
fired=
life=
trap '' HUP INT QUIT TERM USR1 USR2 TSTP TTIN TTOU PIPE

read_clock() {
  read -r clock _ </proc/uptime || return 1
  whole=${clock%.*}
  part=${clock#*.}
  clock=$((whole * 100 + ${part#0}))
}

seconds() {
  printf '%d.%02d' $(($1 / 100)) $(($1 % 100))
}

members() {
  if [ -r /proc/self/environ ]; then
    grep -ls -e "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do echo "$pid"; done
  elif [ -n "$child" ]; then
    ps -A -o pid=,ppid=,stat= | awk -v root="$child" '
      $3 !~ /^Z/ { parent[$1] = $2 }
      END {
        for (pid in parent) {
          for (at = pid; at in parent && at != root && at > 1; at = parent[at]) {}
          if (at == root) print pid
        }
      }'
  fi
}

# Signals all of them; says by its status whether there were any.
send() {
  any=1
  if [ -n "$group" ] && kill -s "$1" -- "-$group" 2>/dev/null; then any=0; fi
  for pid in $(members); do
    kill -s "$1" "$pid" 2>/dev/null && any=0
  done
  return $any
}

pause() {
  sleep "$1" 2>/dev/null || sleep 1
}

timed=
if command -v timeout >/dev/null 2>&1 && read_clock; then timed=yes; fi

while :; do
  if [ -n "$timed" ] && [ -n "$deadline" ]; then
    read_clock
    left=$((deadline - clock))
    if [ "$left" -le 0 ]; then
      if send KILL && [ -z "$fired" ]; then
        fired=yes
        echo fired
      fi
      left=10
    fi
    line=$(timeout "$(seconds "$left")" /bin/sh -c 'read -r line && printf %s "$line"')
    status=$?
    # 124: the time is over. Above: somebody killed the reader.
    if [ "$status" -gt 1 ]; then continue; fi
  else
    read -r line
    status=$?
  fi
  if [ "$status" -ne 0 ]; then break; fi
  case $line in "life "*)
    life=${line#life }
    continue
    ;;
  esac
  # shellcheck disable=SC2086
  set -- $line
  case ${1-} in
    child) child=$2 group=${3-} ;;
    deadline) deadline=$2 ;;
    calm) deadline= ;;
    done) exit 0 ;;
  esac
done

# Leasehold is gone. The lease ends by itself; until then the command may end in good order.
until=
if [ -n "$timed" ]; then
  read_clock
  until=$((clock + grace))
  if [ -n "$deadline" ] && [ "$deadline" -lt "$until" ]; then until=$deadline; fi
  patience=$((until - clock))
else
  patience=$grace
fi
if [ "$patience" -gt 0 ] && send TERM; then
  while [ "$patience" -gt 0 ] && send 0; do
    pause 0.05
    patience=$((patience - 5))
    if [ -n "$timed" ]; then
      read_clock
      patience=$((until - clock))
    fi
  done
fi
# A process that was just being started shows its mark only now: look again a few times.
quiet=0
while [ "$quiet" -lt 5 ]; do
  if send KILL; then quiet=0; else quiet=$((quiet + 1)); fi
  pause 0.05
done
# Nothing is left that uses what Leasehold held: the next may have it now.
if [ -n "$life" ] && [ -f "$life" ]; then printf e >>"$life"; fi
