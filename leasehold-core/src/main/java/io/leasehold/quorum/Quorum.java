package io.leasehold.quorum;

import java.util.ArrayList;
import java.util.List;

/** Quorum of {@code nanoTime}, compared by difference. Pure. */
final class Quorum {

    private Quorum() {}

    /** The latest moment that so many of these have reached: the count-th largest. */
    static long latestReachedBy(int count, List<Long> momentsAtNanos) {
        List<Long> sorted = new ArrayList<>(momentsAtNanos);
        sorted.sort((a, b) -> Long.signum(b - a));
        return sorted.get(count - 1);
    }
}
