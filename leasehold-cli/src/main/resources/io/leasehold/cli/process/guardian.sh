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
grace_millis=$2
grace=$(($2 / 10))
cgroup=$3
# What it knew, if it had to begin again.
child=${LEASEHOLD_GUARDIAN_CHILD-}
group=${LEASEHOLD_GUARDIAN_GROUP-}
reaper=${LEASEHOLD_GUARDIAN_REAPER-}
known=${LEASEHOLD_GUARDIAN_KNOWN-}
deadline=${LEASEHOLD_GUARDIAN_DEADLINE-}
fired=${LEASEHOLD_GUARDIAN_FIRED-}
life=${LEASEHOLD_GUARDIAN_LIFE-}
# Set as long as what lives is to be killed.
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

# All that lives of the run, as PID:START; a group that is wholly its own comes first, as -GROUP:. Whatever was seen once is
# remembered, for the kernel forgets whose child it was as soon as its parent has ended. A dot ends it: without one it could not
# look, as where no process can be started, and whatever it saw says nothing.
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
    # Only before the table: in it a line may begin with what a process put into its name.
    !table && $1 == "known" {
      split($2, part, ":")
      if (part[1] > 0) remembered[part[1]] = part[2]
      next
    }
    !table && $1 == "in" {
      within[$2] = 1
      next
    }
    # Zero stands for a process that this pid namespace does not show.
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
      # pid (name) state ppid pgrp ...: the name may hold anything, also spaces and parentheses.
      pid = $1
      match($0, /.*\)/)
      split(substr($0, RSTART + RLENGTH + 1), field, " ")
      # One whose first thread alone has ended is shown as a zombie, too, and goes on in the others.
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
      # What /proc hides lives all the same.
      for (pid in held) if (!(pid in start) && !(pid in ours)) print pid ":"
      print "."
    }'
}

# The same as far as grep knows, where there is no awk.
look_at_marks() {
  grep -ls -e "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do echo "$pid:"; done
  if [ -n "$group" ] && group_lives; then echo "-$group:"; fi
  echo .
}

# Whether anything but zombies is in the group: kill, which takes them as well, does not tell.
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

# The same as far as ps knows.
look_without_proc() {
  ps -A -o pid=,ppid=,pgid=,stat= | awk -v root="${child%%:*}" -v group="$group" -v self="$$" '
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

# Keeps in mind what lives; says by its status whether it could look.
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

# Whether the process with this PID:START still is that one; starts no process.
is_there() {
  read -r stat 2>/dev/null <"/proc/${1%%:*}/stat" || return 1
  # shellcheck disable=SC2086
  set -- "$1" ${stat##*) }
  [ "${21-}" = "${1#*:}" ]
}

# Signals what is known without a look, and without another process.
send_blindly() {
  # First: nobody else gets the id of the group as long as one of its members lives, or its leader was not collected.
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

# Signals all of them; says by its status whether any lives, also one that cannot be signalled or may be unseen.
send() {
  # Before anything that needs a process: the command may have used up those that there may be.
  if [ "$1" = KILL ]; then
    killing=yes
    kill_control_group
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

# A shell that can start no process ends. It then kills what it knows by itself, and becomes another that goes on.
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
    # 124: the time is over. Above: somebody killed the reader.
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

# Leasehold is gone. The lease ends by itself; until then the command may end in good order.
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
killing=
# Nothing is left that uses what Leasehold held: the next may have it now.
if [ -n "$life" ] && [ -f "$life" ]; then printf e >>"$life"; fi
if [ -n "$cgroup" ]; then find "$cgroup" -depth -type d -exec rmdir {} \; 2>/dev/null; fi
