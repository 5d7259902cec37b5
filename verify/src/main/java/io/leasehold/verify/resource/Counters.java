package io.leasehold.verify.resource;

import io.leasehold.fencing.Access;
import io.leasehold.fencing.TokenPair;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistorySink;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Counters that are read and overwritten. Those whose names begin with {@code checking/} register the fencing token at
 * first contact, reads included, and refuse stale ones by the rule of {@link TokenPair}; all others accept everything.
 *
 * <p>Guarded by {@code this}; the history is written inside, so that it has the order of events.
 */
final class Counters {

    static final String CHECKING = "checking/";
    static final String NAIVE = "naive/";

    private final HistorySink sink;
    private final LongSupplier clock;
    private final Map<String, Counter> counters = new HashMap<>();

    Counters(HistorySink sink, LongSupplier clock) {
        this.sink = sink;
        this.clock = clock;
    }

    private static final class Counter {
        private long value;
        private TokenPair tokens = TokenPair.NONE;
    }

    /**
     * The answer of the resource.
     *
     * @param accepted whether the token was accepted
     * @param value the value of the counter after the request
     */
    record Answer(boolean accepted, long value) {}

    /**
     * Reads a counter.
     *
     * @param kind that of the lease: the holder of an exclusive one is a writer also when it reads
     */
    synchronized Answer read(String name, long token, Access kind) {
        Counter counter = counters.computeIfAbsent(name, n -> new Counter());
        boolean accepted = admits(name, counter, token, kind);
        log(name, HistoryEvent.Access.READ, token, counter.value, accepted);
        return new Answer(accepted, counter.value);
    }

    synchronized Answer write(String name, long token, long value) {
        Counter counter = counters.computeIfAbsent(name, n -> new Counter());
        boolean accepted = admits(name, counter, token, Access.WRITE);
        log(name, HistoryEvent.Access.WRITE, token, value, accepted);
        if (accepted) {
            counter.value = value;
        }
        return new Answer(accepted, counter.value);
    }

    private static boolean admits(String name, Counter counter, long token, Access kind) {
        if (!name.startsWith(CHECKING)) {
            return true;
        }
        if (token < counter.tokens.floor(kind)) {
            return false;
        }
        counter.tokens = counter.tokens.after(token, kind);
        return true;
    }

    private void log(String name, HistoryEvent.Access access, long token, long value, boolean accepted) {
        sink.add(new HistoryEvent.Accessed(clock.getAsLong(), "resource", name, access, token, value, accepted));
    }
}
