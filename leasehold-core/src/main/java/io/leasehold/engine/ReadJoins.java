package io.leasehold.engine;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The callers of one process that share one request for a read lease, and then its grant: they join while the request is
 * on its way, and for a short time after the grant. Pure.
 *
 * @param <C> the type of the callers
 */
final class ReadJoins<C> {

    /** The way of a caller that comes. */
    enum Entry {
        /** It is the first: the request is sent for it. */
        BEGINS,
        /** It waits for the request of the others. */
        WAITS,
        /** The grant is new enough: it shares the grant at once. */
        SHARES,
        /** It is too late, and needs a request of its own. */
        CLOSED
    }

    /** The effect of the departure of a caller. */
    enum Departure {
        /** The caller does not wait here: its outcome is decided. */
        DECIDED,
        /** Other callers still wait for the request. */
        OTHERS_WAIT,
        /** No caller waits any more: the request is withdrawn. */
        NONE_WAITS
    }

    private enum Phase {
        NEW,
        ASKING,
        GRANTED,
        CLOSED
    }

    private final long windowNanos;
    private final Set<C> waiting = new LinkedHashSet<>(2);
    private Phase phase = Phase.NEW;
    private long grantedAtNanos;

    /**
     * Creates a request that no caller has made.
     *
     * @param windowNanos how long after its grant a caller may join
     */
    ReadJoins(long windowNanos) {
        this.windowNanos = windowNanos;
    }

    Entry enter(C caller, long nowNanos) {
        if (phase == Phase.NEW || phase == Phase.ASKING) {
            Entry entry = phase == Phase.NEW ? Entry.BEGINS : Entry.WAITS;
            phase = Phase.ASKING;
            waiting.add(caller);
            return entry;
        }
        return joinsGrant(nowNanos) ? Entry.SHARES : Entry.CLOSED;
    }

    /** Whether a caller may share the grant now. Once it may not, none may any more. */
    boolean joinsGrant(long nowNanos) {
        long sinceNanos = nowNanos - grantedAtNanos;
        if (phase == Phase.GRANTED && (sinceNanos < 0 || sinceNanos >= windowNanos)) {
            phase = Phase.CLOSED;
        }
        return phase == Phase.GRANTED;
    }

    Departure left(C caller) {
        if (!waiting.remove(caller)) {
            return Departure.DECIDED;
        }
        if (!waiting.isEmpty()) {
            return Departure.OTHERS_WAIT;
        }
        phase = Phase.CLOSED;
        return Departure.NONE_WAITS;
    }

    /** Returns the callers that receive the grant; if there is none, no later caller receives it either. */
    List<C> granted(long nowNanos) {
        List<C> all = closed();
        if (!all.isEmpty()) {
            phase = Phase.GRANTED;
            grantedAtNanos = nowNanos;
        }
        return all;
    }

    /** Ends the request without a grant; returns the callers that still wait for its outcome. */
    List<C> closed() {
        phase = Phase.CLOSED;
        List<C> all = new ArrayList<>(waiting);
        waiting.clear();
        return all;
    }

    /** Returns the callers that wait for the request. */
    List<C> waiting() {
        return List.copyOf(waiting);
    }
}
