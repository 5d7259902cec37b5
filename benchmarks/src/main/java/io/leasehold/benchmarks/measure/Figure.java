package io.leasehold.benchmarks.measure;

/** The numbers that are measured, their names, and which direction is better. */
public enum Figure {
    /** Acquire and release together, per second. */
    PAIRS_PER_SECOND("pairs/s", true),
    /** How long a thousand turns of a hot lock take. */
    SECONDS_PER_THOUSAND_TURNS("s/1,000 turns", false),
    /** The threads that a further client of the same server adds to its process. */
    THREADS_PER_CLIENT("threads/client", false),
    /** The memory outside of the heap that such a client adds. */
    DIRECT_KILOBYTES_PER_CLIENT("direct kB/client", false),
    /** From just before unlock to the return of the waiter's lock, median. */
    HAND_OVER_P50_MICROS("p50 µs", false),
    /** The same, 99th percentile. */
    HAND_OVER_P99_MICROS("p99 µs", false),
    /** The same, longest. */
    HAND_OVER_MAX_MICROS("longest µs", false),
    /** A further lock and unlock by the thread that holds the lock. */
    NANOS_PER_REENTRY("ns/re-entry", false),
    /** The heap that stays reachable for a lock that is held. */
    BYTES_PER_LEASE("bytes/lease", false),
    /** Locks whose key was gone although nobody had released them. */
    LOST("lost", false),
    /** By how much the median wait is above that with all servers up. */
    ADDED_P50_MICROS("p50 above all up µs", false),
    /** By how much the 99th percentile of the wait is above that with all servers up. */
    ADDED_P99_MILLIS("p99 above all up ms", false),
    /** From the start of a command until its end. */
    START_MILLIS("ms/start", false),
    /** Processor time of a command, from start to end. */
    START_CPU_MILLIS("cpu ms/start", false),
    /** Scripts per second while locks are only held. */
    SCRIPTS_PER_SECOND("scripts/s", false),
    /** Commands, those inside scripts included, per second while locks are only held. */
    COMMANDS_PER_SECOND("commands/s", false),
    /** Processors that the client used while locks were only held. */
    CLIENT_CORES("client cores", false),
    /** Processors that the server used while locks were only held. */
    SERVER_CORES("server cores", false),
    /** Scripts per waiting process and recheck interval. */
    SCRIPTS_PER_RECHECK("scripts/recheck·process", false),
    /** Scripts per pair. */
    SCRIPTS("scripts/op", false),
    /** Commands per pair, those inside scripts included. */
    COMMANDS("commands/op", false),
    /** How often the server read from a connection, per pair. */
    READS("reads/op", false),
    /** Processor time of the server per pair. */
    SERVER_MICROS("server µs/op", false),
    /** Processor time of the client processes per pair. */
    CLIENT_MICROS("client µs/op", false),
    /** What the client processes allocated per pair; only where the JVM counts it. */
    CLIENT_BYTES("client bytes/op", false),
    /** How long acquire took, median. */
    WAIT_P50_MICROS("acquire p50 µs", false),
    /** How long acquire took, 99th percentile. */
    WAIT_P99_MICROS("acquire p99 µs", false),
    /** How long acquire took, 99.9th percentile. */
    WAIT_P999_MILLIS("acquire p99.9 ms", false),
    /** How long acquire took at most. */
    WAIT_MAX_MILLIS("longest wait ms", false),
    /** The luckiest thread's share over the unluckiest one's. */
    MAX_OVER_MIN("max/min", false);

    private final String label;
    private final boolean moreIsBetter;

    Figure(String label, boolean moreIsBetter) {
        this.label = label;
        this.moreIsBetter = moreIsBetter;
    }

    /** The head of its column. */
    public String label() {
        return label;
    }

    /** Whether a larger number is better. */
    public boolean moreIsBetter() {
        return moreIsBetter;
    }
}
