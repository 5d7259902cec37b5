package io.leasehold.zookeeper;

import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.QueuePlace;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException;

/**
 * The downgrade of a holder: its node becomes that of a reader, in its place. A late copy of the request changes nothing,
 * because it requires the version of the node before its first change.
 *
 * <p>Safe for use by any thread, if its calls do not overlap.
 */
final class NodeDowngrade {

    /** The version of a node that was not changed since its creation. */
    private static final int UNCHANGED = 0;

    /** Receives the outcome. */
    interface Listener {
        /** The node is that of the reader of this request; returns the answer. */
        AcquireReply downgraded(AcquireRequest request, EntryData data, OwnNode.Made own, long provenAtNanos);
    }

    private final LockRuntime runtime;
    private final QueuePlace<OwnNode.Made> place;
    private final Listener listener;

    NodeDowngrade(LockRuntime runtime, QueuePlace<OwnNode.Made> place, Listener listener) {
        this.runtime = runtime;
        this.place = place;
        this.listener = listener;
    }

    /** Carries out a request in the session that has the node, in turn with the others of the place. */
    CompletableFuture<AcquireReply> ask(AcquireRequest request, Session in) {
        OwnNode.Made own = place.held();
        if (own == null) {
            return CompletableFuture.completedFuture(lost());
        }
        EntryData next = EntryData.downgraded(request.owner(), request.holderId());
        long sentAtNanos = runtime.nanoTime();
        return in.write(own.path(), next.bytes(), UNCHANGED)
                .handle((done, error) -> {
                    if (error == null) {
                        return CompletableFuture.completedFuture(listener.downgraded(request, next, own, sentAtNanos));
                    }
                    if (Failures.isMissing(error)) {
                        return gone();
                    }
                    return Failures.codeOf(error) == KeeperException.Code.BADVERSION
                            ? compare(request, next, own, in)
                            : CompletableFuture.<AcquireReply>failedFuture(error);
                })
                .thenCompose(answer -> answer);
    }

    /** Reads whether an earlier copy of the request has changed the node. */
    private CompletableFuture<AcquireReply> compare(
            AcquireRequest request, EntryData next, OwnNode.Made own, Session in) {
        long sentAtNanos = runtime.nanoTime();
        // The confirmation proves the session; the read is answered after it.
        return in.confirm(List.of(own.path()))
                .thenCombine(in.read(own.path(), false), (there, found) -> {
                    if (!there.get(0)) {
                        place.gone();
                        return lost();
                    }
                    return Arrays.equals(found.data(), next.bytes())
                            ? listener.downgraded(request, next, own, sentAtNanos)
                            : lost(); // A reader of another request, or another program has written to it.
                })
                .exceptionallyCompose(
                        error -> Failures.isMissing(error) ? gone() : CompletableFuture.failedFuture(error));
    }

    private CompletableFuture<AcquireReply> gone() {
        place.gone();
        return CompletableFuture.completedFuture(lost());
    }

    private static AcquireReply lost() {
        return new AcquireReply.Busy(null, 0, List.of());
    }
}
