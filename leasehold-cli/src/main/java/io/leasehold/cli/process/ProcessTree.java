package io.leasehold.cli.process;

import io.leasehold.cli.process.ProcessTable.Row;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The running processes of a command: its descendants, its process group if it has its own, the processes that carry the
 * {@link RunMark}, are in the run's {@link ControlGroup} or below the process that adopts orphans, and those that were any of
 * these at an earlier check.
 *
 * <p>{@link Containment} documents which processes escape. Any thread may use it.
 */
final class ProcessTree {

    private static final long RESCAN_NANOS = 10_000_000L;

    private final ProcessTable table;
    private final Signals signals;
    private final RunMark mark;
    private final StartedCommand command;
    private final @Nullable ProcessHandle adopter;
    private final boolean ownGroup;
    private final @Nullable ControlGroup enclosing;
    private final long ownPid = ProcessHandle.current().pid();
    /** Processes that were seen once are kept: the kernel forgets an orphan's parent. */
    private final Map<Long, ProcessHandle> seen = new HashMap<>();

    private List<Row> strays = List.of();

    ProcessTree(
            ProcessTable table,
            Signals signals,
            RunMark mark,
            StartedCommand command,
            @Nullable ControlGroup enclosing) {
        this.table = table;
        this.signals = signals;
        this.mark = mark;
        this.command = command;
        this.adopter = command.adopter();
        this.ownGroup = command.ownGroup();
        this.enclosing = enclosing;
    }

    /** The processes that run now, without zombies. */
    synchronized List<ProcessHandle> members() {
        // Before the table: a process started meanwhile has its parent in the table.
        Set<Long> enclosed = enclosing == null ? Set.of() : enclosing.pids();
        List<Row> rows;
        try {
            rows = table.rows();
        } catch (IOException noTable) {
            return withoutTable();
        }
        Set<Long> alive = new HashSet<>();
        rows.forEach(row -> alive.add(row.pid()));
        seen.values().removeIf(process -> !alive.contains(process.pid()) || !process.isAlive());
        // Once the command itself was collected, another process may have its id.
        boolean idIsOurs = command.keepsId() || !alive.contains(command.pid());
        Set<Long> found = new HashSet<>();
        List<Row> unseen = new ArrayList<>();
        for (Row row : rows) {
            boolean inGroup = idIsOurs && ownGroup && row.group() == command.pid();
            boolean plain = inGroup || enclosed.contains(row.pid()) || table.carries(row, mark.bytes());
            if (plain || (idIsOurs && row.pid() == command.pid()) || seen.containsKey(row.pid())) {
                found.add(row.pid());
            }
            if (!plain) {
                unseen.add(row);
            }
        }
        addDescendants(found, rows);
        found.remove(ownPid);
        if (adopter != null) {
            found.remove(adopter.pid());
        }
        found.forEach(pid -> ProcessHandle.of(pid).ifPresent(process -> seen.putIfAbsent(pid, process)));
        seen.values().removeIf(process -> !process.isAlive());
        unseen.removeIf(row -> !found.contains(row.pid()));
        strays = unseen;
        return new ArrayList<>(seen.values());
    }

    private void addDescendants(Set<Long> found, List<Row> rows) {
        Map<Long, List<Long>> children = new HashMap<>();
        for (Row row : rows) {
            children.computeIfAbsent(row.parent(), any -> new ArrayList<>()).add(row.pid());
        }
        Deque<Long> parents = new ArrayDeque<>(found);
        if (adopter != null && adopter.isAlive()) {
            parents.add(adopter.pid());
        }
        while (!parents.isEmpty()) {
            for (long child : children.getOrDefault(parents.remove(), List.of())) {
                if (child != ownPid && found.add(child)) {
                    parents.add(child);
                }
            }
        }
    }

    private List<ProcessHandle> withoutTable() {
        command.family().forEach(process -> seen.putIfAbsent(process.pid(), process));
        seen.values().removeIf(process -> !process.isAlive());
        return new ArrayList<>(seen.values());
    }

    /** Checks; returns the members that only their parents identify, which must therefore be recorded. */
    synchronized List<Row> lookForStrays() {
        members();
        return strays;
    }

    /** The session in which the command was started: its own, or that of this process. */
    long sessionOfRoot() {
        if (ownGroup) {
            return command.pid();
        }
        try {
            return table.row(ownPid).map(Row::session).orElse(0L);
        } catch (IOException noTable) {
            return 0;
        }
    }

    /** The members in this session, whichever group they made: only a daemon has created its own session. */
    List<ProcessHandle> membersInSession(long session) {
        Set<Long> inSession = new HashSet<>();
        try {
            for (Row row : table.rows()) {
                if (row.session() == session && row.pid() != ownPid) {
                    inSession.add(row.pid());
                }
            }
        } catch (IOException noTable) {
            return members();
        }
        if (inSession.isEmpty()) {
            return List.of();
        }
        List<ProcessHandle> members = members();
        members.removeIf(process -> !inSession.contains(process.pid()));
        return members;
    }

    /**
     * Sends TERM to all of them; does not wait.
     *
     * @return those to which it could not be sent
     */
    List<Long> terminate() {
        List<ProcessHandle> refusing = members();
        refusing.removeIf(ProcessHandle::destroy);
        return running(pids(refusing));
    }

    /** Kills all of them, including processes that they start meanwhile, and waits until none is left or the patience has ended. */
    boolean kill(long patienceNanos) {
        long startedAtNanos = System.nanoTime();
        // Before the first check: its members may be hidden, as another user's processes may be in /proc.
        killEnclosed();
        while (!alive().isEmpty() && System.nanoTime() - startedAtNanos < patienceNanos) {
            killEnclosed();
            members().forEach(ProcessHandle::destroyForcibly);
            LockSupport.parkNanos(RESCAN_NANOS);
        }
        return alive().isEmpty();
    }

    private void killEnclosed() {
        if (enclosing != null) {
            enclosing.kill();
        }
    }

    /**
     * Sends the signal to the whole group of the command and to the {@link SignalTargets} outside of it, or to each member if
     * the group is not its own.
     *
     * @return those to which it could not be sent
     */
    List<Long> signalAll(String name) throws IOException {
        if (!ownGroup) {
            return running(signals.send(name, pids(members())));
        }
        // Before the signal is sent: what the command starts in answer to it does not receive it.
        List<Long> targets = new ArrayList<>(targetsOutsideTheGroup(JvmSignals.number(name)));
        targets.add(0, -command.pid());
        signals.send(name, targets);
        // A group takes a signal if one of its processes does: each is asked whether it would.
        return running(signals.send(Signals.NONE, pids(members())));
    }

    private List<Long> targetsOutsideTheGroup(int signal) {
        Set<Long> members = new HashSet<>(pids(members()));
        List<Row> rows;
        try {
            rows = new ArrayList<>(table.rows());
        } catch (IOException noTable) {
            return List.of();
        }
        rows.removeIf(row -> !members.contains(row.pid()));
        return SignalTargets.outside(rows, command.pid(), row -> table.catches(row, signal));
    }

    /** The ids of all running processes, including hidden ones in the control group. */
    List<Long> alive() {
        Set<Long> pids = new TreeSet<>(pids(members()));
        if (enclosing != null) {
            pids.addAll(enclosing.pids());
        }
        return List.copyOf(pids);
    }

    /** The ids of these. */
    static List<Long> pids(Collection<ProcessHandle> processes) {
        return processes.stream().map(ProcessHandle::pid).sorted().toList();
    }

    /**
     * Sends the signal to the command alone.
     *
     * @return the command, if it could not be sent
     */
    List<Long> signalRoot(String name) throws IOException {
        return command.isAlive() ? running(signals.send(name, List.of(command.pid()))) : List.of();
    }

    /** Returns those of these processes that have not ended: an ended process needs no signal. */
    private List<Long> running(List<Long> pids) {
        if (pids.isEmpty()) {
            return List.of();
        }
        try {
            Set<Long> running = new HashSet<>();
            table.rows().forEach(row -> running.add(row.pid()));
            return pids.stream().filter(running::contains).toList();
        } catch (IOException noTable) {
            return List.of();
        }
    }
}
