package io.leasehold.quorum;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The arithmetic of a quorum. Pure. */
final class Quorum {

    private Quorum() {}

    /** The size of a quorum of this number of nodes: any two quorums have a node in common. */
    static int majority(int nodes) {
        return nodes / 2 + 1;
    }

    /**
     * The latest moment of {@code nanoTime} that {@code count} of these moments have reached: the count-th largest,
     * compared by difference.
     */
    static long latestReachedBy(int count, List<Long> momentsAtNanos) {
        List<Long> sorted = new ArrayList<>(momentsAtNanos);
        sorted.sort((a, b) -> Long.signum(b - a));
        return sorted.get(count - 1);
    }

    /** The lower median of the first {@code count} numbers, which it sorts: each answer of a node needs it several times. */
    static long lowerMedian(long[] numbers, int count) {
        Arrays.sort(numbers, 0, count);
        return numbers[(count - 1) / 2];
    }

    static long upperMedian(List<Long> numbers) {
        return numbers.stream().sorted().toList().get(numbers.size() / 2);
    }
}
