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
 * Everything that a command started and that still runs: its descendants, its process group if it has one of its own, whatever
 * carries the {@link RunMark}, what is in the run's {@link ControlGroup} or below the process that adopts orphans, and whatever
 * was one of these when somebody looked.
 *
 * <p>What escapes is said at {@link Containment}. Any thread may use it.
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
    /** Those seen once stay suspects: the kernel forgets whose child an orphan was. */
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

    /** Those that run now; zombies do not. */
    synchronized List<ProcessHandle> members() {
        // Before the table: what is started meanwhile has its parent in the table.
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
        // Once the command itself was collected, another process may be given its id.
        boolean idIsOurs = command.isAlive() || !alive.contains(command.pid());
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

    /** Looks; returns those of the members that nothing but their parents shows, so that somebody has to remember them. */
    synchronized List<Row> lookForStrays() {
        members();
        return strays;
    }

    /** The process group the command was started in: its own, or ours. */
    long groupOfRoot() {
        if (ownGroup) {
            return command.pid();
        }
        try {
            return table.row(ownPid).map(Row::group).orElse(0L);
        } catch (IOException noTable) {
            return 0;
        }
    }

    /** Those of the members that are in this process group: a daemon has made a session of its own. */
    List<ProcessHandle> membersInGroup(long group) {
        Set<Long> inGroup = new HashSet<>();
        try {
            for (Row row : table.rows()) {
                if (row.group() == group && row.pid() != ownPid) {
                    inGroup.add(row.pid());
                }
            }
        } catch (IOException noTable) {
            return members();
        }
        if (inGroup.isEmpty()) {
            return List.of();
        }
        List<ProcessHandle> members = members();
        members.removeIf(process -> !inGroup.contains(process.pid()));
        return members;
    }

    /** Asks all of them to end; does not wait. */
    void terminate() {
        members().forEach(ProcessHandle::destroy);
    }

    /** Kills all of them, and what they start meanwhile, and waits until none is left or the patience has ended. */
    boolean kill(long patienceNanos) {
        long startedAtNanos = System.nanoTime();
        // Before the first look: what is in there may be hidden, as another user's processes may be in /proc.
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

    /** Sends the signal to the whole group of the command, or to each member where the group is not its own. */
    void signalAll(String name) throws IOException {
        if (ownGroup) {
            signals.send(name, List.of(-command.pid()));
        } else {
            signals.send(name, pids(members()));
        }
    }

    /** Those of all that run, also of what is in the control group and cannot be seen. */
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

    /** Sends the signal to the command alone. */
    void signalRoot(String name) throws IOException {
        if (command.isAlive()) {
            signals.send(name, List.of(command.pid()));
        }
    }
}
