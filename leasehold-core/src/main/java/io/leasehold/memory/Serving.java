package io.leasehold.memory;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.memory.NameState.Held;
import io.leasehold.memory.NameState.Place;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One step that serves the line of a name: a writer that is first gets a free lock, and all readers at the head share it.
 * The node does not know dead waiters and does not skip them: each costs its claim time.
 *
 * @param forgottenFence the highest fence of all names that were forgotten
 * @param signals the signals to send after the step
 */
record Serving(long nowNanos, long serverMicros, long forgottenFence, List<Consumer<StoreSignals>> signals) {

    /** For how long a node remembers fences: a ballot that is older than that is refused. */
    static final long RETENTION_MICROS = 60_000_000L;

    /**
     * Returns the answer to a ballot that is too far ahead, or does not exceed the floor; null if it may be granted.
     *
     * @param fence the lowest fence of the names of the ballot, which bounds how far ahead it may be
     * @param ownFloor the floor of its kind of holder: the highest fence of the names, or the floor of readers
     */
    @Nullable
    NodeReply unacceptable(Ballot ballot, long fence, long ownFloor, Incarnation incarnation) {
        long last = ballot.tokens().last();
        if (last > Math.max(fence, serverMicros) + NameState.MAX_LEAD_MICROS) {
            String reason = "fencing token " + last + " runs ahead of the node's clock";
            return new NodeReply.Refused(reason, 0, incarnation, serverMicros);
        }
        long floor = Math.max(ownFloor, serverMicros - RETENTION_MICROS);
        if (ballot.candidate() <= floor) {
            return new NodeReply.Stale(floor, incarnation, serverMicros);
        }
        return null;
    }

    /** Answers a ballot that takes the place of an owner token, which the swap finds, and never a free lock. */
    NodeReply resumed(Ballot ballot, NameState entry, Predicate<NameState> swap, Incarnation incarnation) {
        long fence = Math.max(forgottenFence, entry.fence);
        NodeReply unacceptable = unacceptable(ballot, fence, fence, incarnation);
        if (unacceptable != null) {
            return unacceptable;
        }
        return swap.test(entry)
                ? new NodeReply.Yes(incarnation, serverMicros)
                : new NodeReply.Held(entry.holder(nowNanos), false, incarnation, serverMicros);
    }

    /**
     * Serves the waiters at the head, as long as the lock can be given to them: hands it over, with tokens above the fence,
     * or wakes the waiter, as its request says.
     */
    void serve(LockName name, NameState entry) {
        entry.dropSilentWaiters(nowNanos);
        boolean woken = false;
        Iterator<Map.Entry<OwnerToken, Place>> line = entry.waiters.entrySet().iterator();
        while (line.hasNext()) {
            Map.Entry<OwnerToken, Place> first = line.next();
            Place place = first.getValue();
            boolean isFree = place.reads() ? entry.heldAt(nowNanos) == null : !entry.isHeld(nowNanos);
            if (!isFree || (woken && !place.reads())) {
                return;
            }
            LockName waiting = place.reads() ? name.asRead() : name;
            if (place.claimNanos() > 0) {
                line.remove();
                handOver(waiting, entry, first.getKey(), place);
            } else if (!woken) {
                signals.add(listener -> listener.wake(waiting));
                woken = true;
            }
            if (!place.reads()) {
                return;
            }
        }
    }

    /** Removes the hold of a writer, if it is that of this holder or of any; returns whether there was one. */
    boolean forceRelease(LockName name, NameState entry, @Nullable String holderId) {
        Held removed = entry.remove(holderId, this);
        if (removed == null) {
            return false;
        }
        signals.add(listener -> listener.lost(removed.owner(), LossCause.FORCE_RELEASED));
        serve(name, entry);
        return true;
    }

    private void handOver(LockName name, NameState entry, OwnerToken owner, Place place) {
        TokenRange tokens =
                TokenRange.of(Math.max(Math.max(entry.fence, forgottenFence) + 1, serverMicros), place.reserve());
        Held hold = new Held(owner, place.holderId(), tokens.first(), nowNanos + place.claimNanos());
        if (place.reads()) {
            entry.fence = entry.readers.grant(owner, hold, tokens.last(), entry.fence);
        } else {
            entry.held = hold;
            entry.fence = tokens.last();
        }
        HandOver handOver = new HandOver(name, owner.attemptId(), tokens, serverMicros);
        signals.add(listener -> listener.handedOver(handOver));
    }
}
