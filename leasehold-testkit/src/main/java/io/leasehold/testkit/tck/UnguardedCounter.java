package io.leasehold.testkit.tck;

/** A counter that only a lock protects: its fields are volatile, so that each thread sees them, and far from atomic. */
final class UnguardedCounter {

    private volatile int value;
    private volatile long lastToken;
    private volatile int tokensOutOfOrder;

    @SuppressWarnings({"ThreadPriorityCheck", "NonAtomicVolatileUpdate"}) // the test detects these races
    void addOneSlowly(long token) {
        int seen = value;
        long before = lastToken;
        Thread.yield();
        lastToken = token;
        if (token <= before) {
            tokensOutOfOrder = tokensOutOfOrder + 1;
        }
        value = seen + 1;
    }

    int value() {
        return value;
    }

    int tokensOutOfOrder() {
        return tokensOutOfOrder;
    }
}
