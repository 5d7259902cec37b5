package io.leasehold.benchmarks.measure;

/** The measured numbers, their names, and the better direction of each. */
public enum Figure {
    /** Acquire and release together, per second. */
    PAIRS_PER_SECOND("pairs/s", true),
    /** The duration of a thousand turns of a hot lock. */
    SECONDS_PER_THOUSAND_TURNS("s/1,000 turns", false),
    /** The threads that a further client of the same server adds to its process. */
    THREADS_PER_CLIENT("threads/client", false),
    /** The memory outside the heap that such a client adds. */
    DIRECT_KILOBYTES_PER_CLIENT("direct kB/client", false),
    /** The median time from just before unlock to the return of the waiter's lock. */
    HAND_OVER_P50_MICROS("p50 µs", false),
    /** The 99th percentile of the same time. */
    HAND_OVER_P99_MICROS("p99 µs", false),
    /** The maximum of the same time. */
    HAND_OVER_MAX_MICROS("longest µs", false),
    /** A further lock and unlock by the thread that holds the lock. */
    NANOS_PER_REENTRY("ns/re-entry", false),
    /** The reachable heap of a held lock. */
    BYTES_PER_LEASE("bytes/lease", false),
    /** Locks whose key was gone without a release. */
    LOST("lost", false),
    /** The median wait minus that with all servers up. */
    ADDED_P50_MICROS("p50 above all up µs", false),
    /** The 99th percentile of the wait minus that with all servers up. */
    ADDED_P99_MILLIS("p99 above all up ms", false),
    /** The time from the start of a command to its end. */
    START_MILLIS("ms/start", false),
    /** The processor time of a command, from start to end. */
    START_CPU_MILLIS("cpu ms/start", false),
    /** Scripts per second while locks are only held. */
    SCRIPTS_PER_SECOND("scripts/s", false),
    /** Commands, including those from scripts, per second while locks are only held. */
    COMMANDS_PER_SECOND("commands/s", false),
    /** The processors that the client used while locks were only held. */
    CLIENT_CORES("client cores", false),
    /** The processors that the server used while locks were only held. */
    SERVER_CORES("server cores", false),
    /** Scripts per renewal interval, a third of the ttl, while locks are only held. */
    SCRIPTS_PER_INTERVAL("scripts/interval", false),
    /** Scripts per waiting process and recheck interval. */
    SCRIPTS_PER_RECHECK("scripts/recheck·process", false),
    /** Scripts per pair. */
    SCRIPTS("scripts/op", false),
    /** Commands per pair, including those from scripts. */
    COMMANDS("commands/op", false),
    /** The server's reads from connections, per pair. */
    READS("reads/op", false),
    /** The server's processor time per pair. */
    SERVER_MICROS("server µs/op", false),
    /** The client processes' processor time per pair. */
    CLIENT_MICROS("client µs/op", false),
    /** The client processes' allocation per pair, if the JVM counts it. */
    CLIENT_BYTES("client bytes/op", false),
    /** The median duration of acquire. */
    WAIT_P50_MICROS("acquire p50 µs", false),
    /** The 99th percentile of the duration of acquire. */
    WAIT_P99_MICROS("acquire p99 µs", false),
    /** The 99.9th percentile of the duration of acquire. */
    WAIT_P999_MILLIS("acquire p99.9 ms", false),
    /** The maximum duration of acquire. */
    WAIT_MAX_MILLIS("longest wait ms", false),
    /** The ratio of the largest share of a thread to the smallest. */
    MAX_OVER_MIN("max/min", false);

    private final String label;
    private final boolean moreIsBetter;

    Figure(String label, boolean moreIsBetter) {
        this.label = label;
        this.moreIsBetter = moreIsBetter;
    }

    /** The heading of its column. */
    public String label() {
        return label;
    }

    /** Whether a larger number is better. */
    public boolean moreIsBetter() {
        return moreIsBetter;
    }
}
