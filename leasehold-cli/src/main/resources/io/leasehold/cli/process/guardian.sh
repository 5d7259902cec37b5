# Ends everything that one run has started, if Leasehold itself was killed or has stopped responding.
#
#   $1       the mark of the run, which the processes of the run have in their environment
#   $2       the time for an orderly end after Leasehold has gone, in milliseconds
#   $3       the directory of the control group of the run, or empty
#   stdin    lines: "child PID START [GROUP]"; "reaper PID START" (its descendants belong to the run; it exits by itself);
#            "known PID START" (belongs to the run, although nothing shows that any more); "deadline N" (kill when the uptime
#            clock, in 1/100 s, reaches N); "calm" (no deadline); "life FILE" (append an "e" once all processes have ended
#            after Leasehold has gone); "done" (exit). End of file means that Leasehold has gone. START is field 22 of
#            /proc/PID/stat
#   stdout   "fired" after it has killed
LC_ALL=C
export LC_ALL
mark=$1
grace_millis=$2
grace=$(($2 / 10))
cgroup=$3
# The state of the previous shell, if this one replaces it: see go_on.
child=${LEASEHOLD_GUARDIAN_CHILD-}
group=${LEASEHOLD_GUARDIAN_GROUP-}
reaper=${LEASEHOLD_GUARDIAN_REAPER-}
known=${LEASEHOLD_GUARDIAN_KNOWN-}
deadline=${LEASEHOLD_GUARDIAN_DEADLINE-}
fired=${LEASEHOLD_GUARDIAN_FIRED-}
life=${LEASEHOLD_GUARDIAN_LIFE-}
# Set while living processes must be killed.
killing=
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

# Prints the living processes of the run, as PID:START. A process group that contains only the run comes first, as -GROUP:.
# A process that was found once is remembered, since the kernel forgets its parent when that parent has ended. The output ends
# with a dot. Without the dot the search has failed, for example because no process could be started, and the output is invalid.
look() {
  {
    for entry in $known $child; do echo "known $entry"; done
    grep -ls -e "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do echo "in $pid"; done
    if [ -n "$cgroup" ]; then
      find "$cgroup" -name cgroup.procs 2>/dev/null | while IFS= read -r members; do
        while read -r pid; do echo "held $pid"; done 2>/dev/null <"$members"
      done
    fi
    echo table
    cat /proc/[0-9]*/stat 2>/dev/null
    echo "looked $mark"
  } | awk -v mark="$mark" -v child="$child" -v group="$group" -v reaper="$reaper" -v self="$$" '
    BEGIN {
      split(child, part, ":")
      child_start = part[2]
      split(reaper, part, ":")
      reaper = part[1]
      reaper_start = part[2]
    }
    # Only before the table: in the table, a process can choose the beginning of a line by its name.
    !table && $1 == "known" {
      split($2, part, ":")
      if (part[1] > 0) remembered[part[1]] = part[2]
      next
    }
    !table && $1 == "in" {
      within[$2] = 1
      next
    }
    # Zero stands for a process outside of this pid namespace.
    !table && $1 == "held" {
      if ($2 > 0) within[$2] = held[$2] = 1
      next
    }
    $1 == "table" {
      table = 1
      next
    }
    $1 == "looked" && $2 == mark {
      looked = 1
      next
    }
    {
      # pid (name) state ppid pgrp ...: the name may contain any character, even spaces and parentheses.
      pid = $1
      match($0, /.*\)/)
      split(substr($0, RSTART + RLENGTH + 1), field, " ")
      # A process whose first thread has ended also appears as a zombie, although its other threads still run.
      if ((field[1] == "Z" && field[18] <= 1) || field[1] == "X") next
      parent[pid] = field[2]
      groups[pid] = field[3]
      start[pid] = field[20]
    }
    END {
      if (!looked || !(self in start)) exit 1
      # Leasehold may have been stopped while it was in the control group to start the command there.
      for (pid = self; pid in start && pid > 0; pid = parent[pid]) ours[pid] = 1
      whole = group != "" && (!(group in start) || start[group] == child_start)
      if (reaper in start && start[reaper] == reaper_start) above[reaper] = 1
      for (pid in start) {
        if (pid in ours) continue
        if (pid in within || (pid in remembered && remembered[pid] == start[pid]) || (whole && groups[pid] == group)) {
          mine[pid] = 1
        }
      }
      do {
        more = 0
        for (pid in start) {
          if (!(pid in mine) && !(pid in ours) && (parent[pid] in mine || parent[pid] in above)) {
            mine[pid] = 1
            more = 1
          }
        }
      } while (more)
      for (pid in mine) if (whole && groups[pid] == group) members = 1
      if (members) print "-" group ":"
      for (pid in mine) if (!(pid in above)) print pid ":" start[pid]
      # A process that /proc hides is alive nevertheless.
      for (pid in held) if (!(pid in start) && !(pid in ours)) print pid ":"
      print "."
    }'
}

# The same for a system without awk, by the shell alone: descendants that show nothing of the run are not found.
look_at_marks() {
  for entry in $known; do
    if [ "$entry" != "$child" ] && lives "$entry"; then echo "$entry"; fi
  done
  if lives "$child"; then echo "$child"; fi
  for file in /proc/[0-9]*/environ; do
    if shows_mark "$file"; then
      pid=${file#/proc/}
      echo "${pid%/*}:"
    fi
  done
  if [ -n "$cgroup" ]; then
    for members in "$cgroup"/cgroup.procs "$cgroup"/*/cgroup.procs; do
      # Leasehold may have been stopped while it was in the control group to start the command there.
      while read -r pid; do
        if [ "$pid" -gt 0 ] && [ "$pid" != $$ ] && [ "$pid" != "$PPID" ]; then echo "$pid:"; fi
      done 2>/dev/null <"$members"
    done
  fi
  if [ -n "$group" ] && group_lives; then echo "-$group:"; fi
  echo .
}

shows_mark() {
  while IFS= read -r text || [ -n "$text" ]; do
    case $text in *"$mark"*) return 0 ;; esac
  done 2>/dev/null <"$1"
  return 1
}

# Whether the process with this PID:START is the same one, and no zombie.
lives() {
  is_there "$1" || return 1
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  [ "$1" != X ] && { [ "$1" != Z ] || [ "${18-0}" -gt 1 ]; }
}

# Whether the group contains a process that is not a zombie. kill accepts zombies, too, so it cannot tell.
group_lives() {
  for file in /proc/[0-9]*/stat; do
    read -r stat 2>/dev/null <"$file" || continue
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    if [ "${3-}" != "$group" ] || [ "$1" = X ]; then continue; fi
    if [ "$1" != Z ] || [ "${18-0}" -gt 1 ]; then return 0; fi
  done
  return 1
}

# The same for a system without /proc, as far as ps can find the processes.
look_without_proc() {
  ps -A -o pid= -o ppid= -o pgid= -o stat= | awk -v root="${child%%:*}" -v group="$group" -v self="$$" '
    $4 !~ /^Z/ {
      parent[$1] = $2
      if (group != "" && $3 == group) member[$1] = lives = 1
    }
    END {
      if (!(self in parent)) exit 1
      if (lives) print "-" group ":"
      for (pid in parent) {
        for (at = pid; at in parent && at != root && at > 1; at = parent[at]) {}
        if ((root > 1 && at == root) || pid in member) print pid ":"
      }
      print "."
    }'
}

# Records the living processes. The status tells whether the search succeeded.
remember() {
  if ! [ -r /proc/self/environ ]; then
    found=$(look_without_proc)
  elif command -v awk >/dev/null 2>&1; then
    found=$(look)
  else
    found=$(look_at_marks)
  fi
  case $found in
    *.) known=${found%.} ;;
    *) return 1 ;;
  esac
}

# Whether the process with this PID:START still exists and is the same one. Starts no process.
is_there() {
  read -r stat 2>/dev/null <"/proc/${1%%:*}/stat" || return 1
  # shellcheck disable=SC2086
  set -- "$1" ${stat##*) }
  [ "${21-}" = "${1#*:}" ]
}

# Signals the known processes without a search, and without starting a process.
send_blindly() {
  # First: no other group gets this id while a member lives, or the exit status of the leader was not collected.
  if [ "$1" = KILL ] && [ -n "$group" ] && { is_there "$child" || ! [ -e "/proc/$group/stat" ]; }; then
    kill -s KILL -- "-$group" 2>/dev/null
  fi
  for entry in $known $child; do
    if is_there "$entry"; then kill -s "$1" "${entry%%:*}" 2>/dev/null; fi
  done
}

kill_control_group() {
  if [ -w "$cgroup/cgroup.kill" ]; then echo 1 >"$cgroup/cgroup.kill"; fi
}

# Signals all processes of the run. The status tells whether any may be alive, even one that cannot be signalled or found.
send() {
  # Before any step that starts a process: the command may have used up the limit of processes.
  if [ "$1" = KILL ]; then
    killing=yes
    kill_control_group
    # Without awk, the search takes longer than the deadline allows.
    command -v awk >/dev/null 2>&1 || send_blindly KILL
  fi
  if ! remember; then
    send_blindly "$1"
    return 0
  fi
  for entry in $known; do
    case $entry in
      -*) if [ "$1" = KILL ]; then kill -s KILL -- "${entry%:}" 2>/dev/null; fi ;;
      *) kill -s "$1" "${entry%%:*}" 2>/dev/null ;;
    esac
  done
  [ -n "$known" ]
}

# Runs when this shell ends because it cannot start a process. Kills the known processes without help, and then replaces
# itself with another shell that continues.
go_on() {
  if [ -z "$killing" ]; then return 0; fi
  kill_control_group
  send_blindly KILL
  if [ "${#known}" -gt 100000 ]; then known=; fi
  LEASEHOLD_GUARDIAN_CHILD=$child
  LEASEHOLD_GUARDIAN_GROUP=$group
  LEASEHOLD_GUARDIAN_REAPER=$reaper
  LEASEHOLD_GUARDIAN_KNOWN=$known
  LEASEHOLD_GUARDIAN_DEADLINE=$deadline
  LEASEHOLD_GUARDIAN_FIRED=$fired
  LEASEHOLD_GUARDIAN_LIFE=$life
  LEASEHOLD_GUARDIAN_KILLING=yes
  export LEASEHOLD_GUARDIAN_CHILD LEASEHOLD_GUARDIAN_GROUP LEASEHOLD_GUARDIAN_REAPER LEASEHOLD_GUARDIAN_KNOWN
  export LEASEHOLD_GUARDIAN_DEADLINE LEASEHOLD_GUARDIAN_FIRED LEASEHOLD_GUARDIAN_LIFE LEASEHOLD_GUARDIAN_KILLING
  # shellcheck disable=SC2154
  exec /bin/sh -c 'eval "$script"' "$0" "$mark" "$grace_millis" "$cgroup"
}
trap go_on EXIT

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
    # 124: the time is over. Above 124: the reader was killed.
    if [ "$status" -gt 1 ]; then continue; fi
  else
    read -r line
    status=$?
  fi
  if [ "$status" -ne 0 ]; then break; fi
  killing=
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
      if [ "${#known}" -gt 4000 ]; then remember; fi
      known="$known $2:$3"
      ;;
    deadline) deadline=$2 ;;
    calm) deadline= ;;
    done) exit 0 ;;
  esac
done

# Leasehold has gone. The lease expires by itself; until then the command may end in an orderly way.
killing=yes
until=
if [ -n "$timed" ]; then
  read_clock
  until=$((clock + grace))
  if [ -n "$deadline" ] && [ "$deadline" -lt "$until" ]; then until=$deadline; fi
  patience=$((until - clock))
else
  patience=$grace
fi
if [ -z "${LEASEHOLD_GUARDIAN_KILLING-}" ] && [ "$patience" -gt 0 ] && send TERM; then
  while [ "$patience" -gt 0 ] && send 0; do
    pause 0.05
    patience=$((patience - 5))
    if [ -n "$timed" ]; then
      read_clock
      patience=$((until - clock))
    fi
  done
fi
# A process that was being started may become visible as part of the run only now: search a few more times. Wait for processes
# that cannot be killed: while one of them lives, no client may learn that all have ended.
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
killing=
# No process of the run is left: the next holder may have the lock now.
if [ -n "$life" ] && [ -f "$life" ]; then printf e >>"$life"; fi
if [ -n "$cgroup" ]; then find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null; fi
