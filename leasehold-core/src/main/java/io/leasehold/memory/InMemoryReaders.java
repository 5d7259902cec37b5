package io.leasehold.memory;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.memory.NameState.Held;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The requests of readers at an {@link InMemoryNode}: the rule for readers of {@link io.leasehold.node.LockNode}. The node
 * guards all state; it finds the entry of a name, and forgets one that is not used.
 */
final class InMemoryReaders {

    private final Function<LockName, NameState> entries;
    private final Incarnation incarnation;

    /** Creates the readers of a node, whose entries this function finds or creates by the exclusive name. */
    InMemoryReaders(Function<LockName, NameState> entries, Incarnation incarnation) {
        this.entries = entries;
        this.incarnation = incarnation;
    }

    /** Decides on a ballot: the floors, then own, or no writer before it. */
    NodeReply decide(Ballot ballot, Serving step) {
        AcquireRequest request = ballot.request();
        LockName name = request.name().asExclusive();
        NameState entry = entries.apply(name);
        entry.dropSilentWaiters(step.nowNanos());
        NodeReply unacceptable = unacceptable(ballot, entry, entry.readers.floor(entry.fence), step);
        if (unacceptable != null) {
            return unacceptable;
        }
        boolean own = entry.readers.hold(step.nowNanos()) && entry.readers.has(request.owner());
        if (!own && (entry.heldAt(step.nowNanos()) != null || !entry.isBehindReadersOnly(request.owner()))) {
            step.serve(name, entry);
            if (request.isWaiting()) {
                entry.enqueue(ballot, step.nowNanos());
            }
            return new NodeReply.Held(
                    entry.holder(step.nowNanos()), request.isWaiting(), incarnation, step.serverMicros());
        }
        entry.grantReader(ballot, step.nowNanos());
        step.serve(name, entry);
        return new NodeReply.Yes(incarnation, step.serverMicros());
    }

    /** Decides on a ballot at a member of a set: the floors, then own, or no writer that holds or keeps the caller out. */
    NodeReply decideAsMember(Ballot ballot, Serving step) {
        AcquireRequest request = ballot.request();
        NameState entry = entries.apply(request.name().asExclusive());
        entry.dropSilentWaiters(step.nowNanos());
        NodeReply unacceptable = unacceptable(ballot, entry, entry.readers.floor(entry.fence), step);
        if (unacceptable != null) {
            return unacceptable;
        }
        boolean own = entry.readers.hold(step.nowNanos()) && entry.readers.has(request.owner());
        if (!own && (entry.heldAt(step.nowNanos()) != null || !entry.letsPass(ballot))) {
            if (request.isWaiting()) {
                entry.forgetPlaceOf(request.holderId(), true);
                entry.enqueue(ballot, step.nowNanos());
            }
            return new NodeReply.Held(
                    entry.holder(step.nowNanos()), request.isWaiting(), incarnation, step.serverMicros());
        }
        if (request.isWaiting()) {
            entry.forgetPlaceOf(request.holderId(), true);
        }
        entry.grantReader(ballot, step.nowNanos());
        return new NodeReply.Yes(incarnation, step.serverMicros());
    }

    /** Decides on the ballot of a reader that takes the place of a writer. It must exceed the fence, as that of a writer. */
    NodeReply downgrade(Ballot ballot, OwnerToken writer, Serving step) {
        LockName name = ballot.request().name().asExclusive();
        NameState entry = entries.apply(name);
        NodeReply unacceptable = unacceptable(ballot, entry, entry.fence, step);
        if (unacceptable != null) {
            return unacceptable;
        }
        boolean isDone = entry.downgrade(ballot, writer, step.nowNanos());
        step.serve(name, entry);
        return isDone
                ? new NodeReply.Yes(incarnation, step.serverMicros())
                : new NodeReply.Held(entry.holder(step.nowNanos()), false, incarnation, step.serverMicros());
    }

    private @Nullable NodeReply unacceptable(Ballot ballot, NameState entry, long ownFloor, Serving step) {
        long fence = Math.max(entry.fence, step.forgottenFence());
        return step.unacceptable(ballot, fence, Math.max(ownFloor, step.forgottenFence()), incarnation);
    }

    /** Ends the owner token; returns whether it was a reader. */
    boolean release(LockName name, ReleaseRequest request, Serving step) {
        NameState entry = entries.apply(name);
        if (request.kind() != ReleaseRequest.Kind.SUPERSEDED) {
            entry.waiters.remove(request.owner());
        }
        boolean released = entry.readers.hold(step.nowNanos()) && entry.readers.has(request.owner());
        entry.endReader(request.owner(), request.ballot(), step.serverMicros());
        step.serve(name, entry);
        return released;
    }

    /** Removes the readers with this holder id, after raising both floors; returns whether there were any. */
    boolean forceRelease(LockName name, NameState entry, @Nullable String holderId, Serving step) {
        entry.readers.hold(step.nowNanos());
        List<Held> removed = entry.readers.remove(holderId);
        if (removed.isEmpty()) {
            return false;
        }
        entry.fence = entry.readers.raise(Math.max(entry.fence, step.serverMicros()), entry.fence);
        removed.forEach(
                reader -> step.signals().add(listener -> listener.lost(reader.owner(), LossCause.FORCE_RELEASED)));
        step.serve(name, entry);
        return true;
    }
}
