package io.leasehold.cli.process;

import io.leasehold.cli.process.ProcessTable.Row;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Chooses, among the processes of a command that left its group, those that receive a signal to the group directly. The
 * others belong to a parent that passes signals on itself, like a nested run or {@code timeout}: many programs stop without
 * cleaning up if the same signal reaches them twice.
 *
 * <p>A parent passes signals on if it catches them and either left the group itself, or its child has another session. A parent
 * in the group whose child has only another group is most likely a shell with job control or one that runs {@code timeout}: a
 * shell passes nothing on, even if it has a trap. Pure, except for the question about catching. Not thread-safe.
 */
final class SignalTargets {

    private final long group;
    private final Predicate<Row> catches;
    private final Map<Long, Row> members = new HashMap<>();
    private final Map<Long, Boolean> leftToParents = new HashMap<>();

    private SignalTargets(Collection<Row> members, long group, Predicate<Row> catches) {
        members.forEach(row -> this.members.put(row.pid(), row));
        this.group = group;
        this.catches = catches;
    }

    /**
     * The ids of the chosen processes.
     *
     * @param members the processes of the command
     * @param group the group of the command
     * @param catches whether a process catches the signal
     */
    static List<Long> outside(Collection<Row> members, long group, Predicate<Row> catches) {
        SignalTargets targets = new SignalTargets(members, group, catches);
        return members.stream()
                .filter(row -> row.group() != group && !targets.isLeftToParent(row))
                .map(Row::pid)
                .sorted()
                .toList();
    }

    private boolean isLeftToParent(Row row) {
        Boolean known = leftToParents.get(row.pid());
        if (known != null) {
            return known;
        }
        // Ends the recursion if ids were reused while the table was read, so that it contains a circle.
        leftToParents.put(row.pid(), false);
        Row parent = members.get(row.parent());
        boolean left = parent != null && passesOn(parent, row);
        leftToParents.put(row.pid(), left);
        return left;
    }

    private boolean passesOn(Row parent, Row child) {
        boolean outside = parent.group() != group;
        if (outside && isLeftToParent(parent)) {
            return true;
        }
        return (outside || parent.session() != child.session()) && catches.test(parent);
    }
}
