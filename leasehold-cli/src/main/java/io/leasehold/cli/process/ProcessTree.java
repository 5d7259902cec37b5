package io.leasehold.cli.process;

import io.leasehold.cli.process.ProcessTable.Row;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * Everything that a command started and that still runs: its descendants, its process group if it has one of its own, and
 * whatever carries the {@link RunMark}, so also what was left by its parent or made a session of its own.
 *
 * <p>What escapes: a process that scrubs its environment, leaves the group <em>and</em> loses its parent, and one that
 * runs as another user. Any thread may use it.
 */
final class ProcessTree {

    private static final long RESCAN_NANOS = 10_000_000L;

    private final ProcessTable table;
    private final Signals signals;
    private final RunMark mark;
    private final ProcessHandle root;
    private final boolean ownGroup;
    private final long ownPid = ProcessHandle.current().pid();
    /** Those seen once stay suspects: without {@code /proc}, an orphan is known only from before. */
    private final Map<Long, ProcessHandle> seen = new HashMap<>();

    ProcessTree(ProcessTable table, Signals signals, RunMark mark, ProcessHandle root, boolean ownGroup) {
        this.table = table;
        this.signals = signals;
        this.mark = mark;
        this.root = root;
        this.ownGroup = ownGroup;
    }

    /** Those that run now; zombies do not. */
    synchronized List<ProcessHandle> members() {
        List<Row> rows;
        try {
            rows = table.rows();
        } catch (IOException noTable) {
            return withoutTable();
        }
        Map<Long, Row> byPid = new HashMap<>();
        rows.forEach(row -> byPid.put(row.pid(), row));
        // Once the command itself was collected, another process may be given its id.
        boolean idIsOurs = root.isAlive() || !byPid.containsKey(root.pid());
        for (Row row : rows) {
            boolean found = row.pid() != ownPid
                    && ((idIsOurs && (inGroup(row) || descends(row, byPid))) || table.carries(row, mark.bytes()));
            if (found) {
                ProcessHandle.of(row.pid()).ifPresent(process -> seen.putIfAbsent(row.pid(), process));
            }
        }
        seen.values().removeIf(process -> !byPid.containsKey(process.pid()) || !process.isAlive());
        return new ArrayList<>(seen.values());
    }

    private List<ProcessHandle> withoutTable() {
        root.descendants().forEach(process -> seen.putIfAbsent(process.pid(), process));
        seen.putIfAbsent(root.pid(), root);
        seen.values().removeIf(process -> !process.isAlive());
        return new ArrayList<>(seen.values());
    }

    /** The process group the command was started in: its own, or ours. */
    long groupOfRoot() {
        if (ownGroup) {
            return root.pid();
        }
        try {
            return table.rows().stream()
                    .filter(row -> row.pid() == ownPid)
                    .mapToLong(Row::group)
                    .findFirst()
                    .orElse(0);
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

    private boolean inGroup(Row row) {
        return ownGroup && row.group() == root.pid();
    }

    private boolean descends(Row row, Map<Long, Row> byPid) {
        Row at = row;
        for (int steps = 0; at != null && steps < byPid.size(); steps++) {
            if (at.pid() == root.pid()) {
                return true;
            }
            at = byPid.get(at.parent());
        }
        return false;
    }

    /** Asks all of them to end; does not wait. */
    void terminate() {
        members().forEach(ProcessHandle::destroy);
    }

    /** Kills all of them, and what they start meanwhile, and waits until none is left or the patience has ended. */
    boolean kill(long patienceNanos) {
        long startedAtNanos = System.nanoTime();
        List<ProcessHandle> members = members();
        while (!members.isEmpty() && System.nanoTime() - startedAtNanos < patienceNanos) {
            members.forEach(ProcessHandle::destroyForcibly);
            LockSupport.parkNanos(RESCAN_NANOS);
            members = members();
        }
        return members.isEmpty();
    }

    /** Sends the signal to the whole group of the command, or to each member where the group is not its own. */
    void signalAll(String name) throws IOException {
        if (ownGroup) {
            signals.send(name, List.of(-root.pid()));
        } else {
            signals.send(name, members().stream().map(ProcessHandle::pid).toList());
        }
    }

    /** Sends the signal to the command alone. */
    void signalRoot(String name) throws IOException {
        if (root.isAlive()) {
            signals.send(name, List.of(root.pid()));
        }
    }
}
