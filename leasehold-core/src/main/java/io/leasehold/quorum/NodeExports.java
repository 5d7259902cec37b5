package io.leasehold.quorum;

import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The exports in progress, one for each owner token that they end. Guarded by {@code this}. */
final class NodeExports {

    private static final long MIN_ANSWER_NANOS = 50_000_000L;

    private final NodeSet nodes;
    private final Map<OwnerToken, NodeExport> underWay = new LinkedHashMap<>();
    private boolean closed;

    NodeExports(NodeSet nodes) {
        this.nodes = nodes;
    }

    /**
     * Puts a ticket in the place of an owner token at all nodes. If that is in progress already, its pending copies are sent
     * at once.
     *
     * @param ttlNanos the time for which a node may know the owner token
     */
    NodeExport begin(ExportRequest wanted, long ttlNanos) {
        @Nullable NodeExport known;
        NodeExport begun;
        boolean begins;
        synchronized (this) {
            known = underWay.get(wanted.owner());
            begun = known != null
                    ? known
                    : new NodeExport(nodes, limited(wanted, ttlNanos), ttlNanos + QuorumSettings.driftNanos(ttlNanos));
            begins = known == null && !closed;
            if (begins) {
                underWay.put(wanted.owner(), begun);
            }
        }
        if (known != null) {
            known.hurry();
            return known;
        }
        begun.over().thenRun(() -> ended(wanted.owner(), begun));
        if (begins) {
            begun.begin();
        } else {
            begun.close();
        }
        return begun;
    }

    /** A node that does not answer is asked again long before the caller's time limit. */
    private static ExportRequest limited(ExportRequest wanted, long ttlNanos) {
        long answerNanos = Math.min(wanted.timeoutNanos(), Math.max(MIN_ANSWER_NANOS, ttlNanos / 10));
        return new ExportRequest(
                wanted.name(),
                wanted.owner(),
                wanted.ballot(),
                wanted.ticket(),
                wanted.token(),
                wanted.holderId(),
                wanted.claimNanos(),
                answerNanos);
    }

    private synchronized void ended(OwnerToken owner, NodeExport export) {
        underWay.remove(owner, export);
    }

    /** Sends no further copy for this owner token, which is ended without a ticket. */
    void stop(OwnerToken owner) {
        @Nullable NodeExport export;
        synchronized (this) {
            export = underWay.get(owner);
        }
        if (export != null) {
            export.close();
        }
    }

    /** Ends all repetitions. */
    void close() {
        List<NodeExport> all;
        synchronized (this) {
            closed = true;
            all = new ArrayList<>(underWay.values());
        }
        all.forEach(NodeExport::close);
    }
}
