# Ends everything that one run started if Leasehold itself was killed or fell silent.
#
#   $1       the run's mark, which what it started carries in its environment
#   $2       how long it may take to end in good order once Leasehold is gone, in milliseconds
#   $3       the directory of the run's control group, or nothing
#   stdin    lines: "child PID START [GROUP]", "reaper PID START" (what is below it belongs to the run; it leaves by itself),
#            "known PID START" (belongs to the run, though nothing shows it any more), "deadline N" (kill when the up-time
#            clock, in 1/100 s, reaches N), "calm" (no deadline), "life FILE" (gets an "e" once all has ended after Leasehold
#            has gone), "done" (leave); the end of it means that Leasehold is gone. START is field 22 of /proc/PID/stat
#   stdout   "fired" when it has killed
LC_ALL=C
export LC_ALL
mark=$1
grace=$(($2 / 10))
cgroup=$3
child=
group=
reaper=
known=
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

# All that lives of the run, as PID:START; a group that is wholly its own comes first, as -GROUP:. Whatever was seen once is
# remembered, for the kernel forgets whose child it was as soon as its parent has ended.
look() {
  {
    grep -ls -e "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do echo "in $pid"; done
    if [ -n "$cgroup" ]; then
      find "$cgroup" -name cgroup.procs -exec cat {} \; 2>/dev/null | while read -r pid; do echo "in $pid"; done
    fi
    cat /proc/[0-9]*/stat 2>/dev/null
  } | awk -v known="$known $child" -v child="$child" -v group="$group" -v reaper="$reaper" '
    BEGIN {
      n = split(known, entries, " ")
      for (i = 1; i <= n; i++) {
        split(entries[i], part, ":")
        if (part[1] > 0) remembered[part[1]] = part[2]
      }
      split(child, part, ":")
      child_start = part[2]
      split(reaper, part, ":")
      reaper = part[1]
      reaper_start = part[2]
    }
    $1 == "in" {
      within[$2] = 1
      next
    }
    {
      # pid (name) state ppid pgrp ...: the name may hold anything, also spaces and parentheses.
      pid = $1
      match($0, /.*\)/)
      split(substr($0, RSTART + RLENGTH + 1), field, " ")
      if (field[1] == "Z" || field[1] == "X") next
      parent[pid] = field[2]
      groups[pid] = field[3]
      start[pid] = field[20]
    }
    END {
      whole = group != "" && (!(group in start) || start[group] == child_start)
      if (reaper in start && start[reaper] == reaper_start) above[reaper] = 1
      for (pid in start) {
        if (pid in within || (pid in remembered && remembered[pid] == start[pid]) || (whole && groups[pid] == group)) {
          mine[pid] = 1
        }
      }
      do {
        more = 0
        for (pid in start) {
          if (!(pid in mine) && (parent[pid] in mine || parent[pid] in above)) {
            mine[pid] = 1
            more = 1
          }
        }
      } while (more)
      for (pid in mine) if (whole && groups[pid] == group) members = 1
      if (members) print "-" group ":"
      for (pid in mine) if (!(pid in above)) print pid ":" start[pid]
    }'
}

# The same as far as grep knows, where there is no awk.
look_at_marks() {
  grep -ls -e "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do echo "$pid:"; done
  if [ -n "$group" ] && kill -s 0 -- "-$group" 2>/dev/null; then echo "-$group:"; fi
}

# The same as far as ps knows.
look_without_proc() {
  [ -n "$child" ] || return
  ps -A -o pid=,ppid=,stat= | awk -v root="${child%%:*}" '
    $3 !~ /^Z/ { parent[$1] = $2 }
    END {
      for (pid in parent) {
        for (at = pid; at in parent && at != root && at > 1; at = parent[at]) {}
        if (at == root) print pid ":"
      }
    }'
  if [ -n "$group" ] && kill -s 0 -- "-$group" 2>/dev/null; then echo "-$group:"; fi
}

# Signals all of them; says by its status whether any lives, also one that cannot be signalled.
send() {
  if ! [ -r /proc/self/environ ]; then
    known=$(look_without_proc)
  elif command -v awk >/dev/null 2>&1; then
    known=$(look)
  else
    known=$(look_at_marks)
  fi
  if [ "$1" = KILL ] && [ -w "$cgroup/cgroup.kill" ]; then echo 1 >"$cgroup/cgroup.kill"; fi
  for entry in $known; do
    case $entry in
      -*) if [ "$1" = KILL ]; then kill -s KILL -- "${entry%:}" 2>/dev/null; fi ;;
      *) kill -s "$1" "${entry%%:*}" 2>/dev/null ;;
    esac
  done
  [ -n "$known" ]
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
    child) child=$2:$3 group=${4-} ;;
    reaper) reaper=$2:$3 ;;
    known)
      if [ "${#known}" -gt 4000 ]; then known=$(look); fi
      known="$known $2:$3"
      ;;
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
# A process that was just being started shows what it belongs to only now: look again a few times. What cannot be killed is
# waited for: nobody may be told that all has ended while it lives.
quiet=0
loud=0
while [ "$quiet" -lt 5 ]; do
  if send KILL; then
    quiet=0
    loud=$((loud + 1))
  else
    quiet=$((quiet + 1))
  fi
  if [ "$loud" -gt 100 ] && [ "$quiet" -eq 0 ]; then pause 1; else pause 0.05; fi
done
if [ -n "$cgroup" ]; then find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null; fi
# Nothing is left that uses what Leasehold held: the next may have it now.
if [ -n "$life" ] && [ -f "$life" ]; then printf e >>"$life"; fi
