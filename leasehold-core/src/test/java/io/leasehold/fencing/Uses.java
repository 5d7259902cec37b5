package io.leasehold.fencing;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Histories of two writers and two readers, and the answer that each use must get: from the list of admitted uses alone. */
final class Uses {

    /**
     * A use of the resource.
     *
     * @param token the token of the lease
     * @param access the kind of the lease
     */
    record Use(long token, Access access) {
        boolean conflictsWith(Use other) {
            return token != other.token && (access == Access.WRITE || other.access == Access.WRITE);
        }
    }

    private final List<Use> admitted = new ArrayList<>();

    /** Whether no newer use was admitted that this one conflicts with; if so, it is admitted. */
    boolean admits(Use use) {
        boolean late = admitted.stream().anyMatch(one -> one.token > use.token && one.conflictsWith(use));
        if (!late) {
            admitted.add(use);
        }
        return !late;
    }

    List<Use> admitted() {
        return admitted;
    }

    /** Every order in which two writers and two readers can get the tokens 1 to 4. */
    static List<List<Use>> leases() {
        List<List<Use>> all = new ArrayList<>();
        for (int writers = 0; writers < 16; writers++) {
            if (Integer.bitCount(writers) == 2) {
                List<Use> leases = new ArrayList<>();
                for (int lease = 0; lease < 4; lease++) {
                    leases.add(new Use(lease + 1, (writers >> lease & 1) == 1 ? Access.WRITE : Access.READ));
                }
                all.add(leases);
            }
        }
        return all;
    }

    /** Passes on every sequence of that length, as indices below {@code choices}. */
    static void sequences(int choices, int length, Consumer<int[]> each) {
        int[] sequence = new int[length];
        int at = 0;
        while (at >= 0) {
            each.accept(sequence);
            at = length - 1;
            while (at >= 0 && ++sequence[at] == choices) {
                sequence[at--] = 0;
            }
        }
    }
}
