package io.leasehold.memory;

import io.leasehold.Holder;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The state of one name at an {@link InMemoryNode}. Not thread-safe. */
final class NameState {

    /** How far ahead of its clock a node lets a fence run. */
    static final long MAX_LEAD_MICROS = 7_500_000L;

    @Nullable
    Held held;

    Readers readers = new Readers();
    long fence;
    /** The waiters in their order. The map that can grow is made for the first: most names never have one. */
    Map<OwnerToken, Place> waiters = Collections.emptyMap();

    /**
     * A place in the queue, with the request of its waiter.
     *
     * @param reads whether the waiter is a reader
     * @param order at a member of a set: the order of the waiters, the same at every member; zero at other nodes
     */
    record Place(
            String holderId,
            boolean reads,
            int reserve,
            long claimNanos,
            long order,
            long sinceAtNanos,
            long forgottenAtNanos) {}

    /** A hold. */
    record Held(OwnerToken owner, String holderId, long token, long endsAtNanos) {

        Holder asHolder(long nowNanos) {
            return new Holder(holderId, Duration.ofNanos(endsAtNanos - nowNanos), OptionalLong.of(token));
        }
    }

    NameState copy() {
        NameState copy = new NameState();
        copy.held = held;
        copy.readers = readers.copy();
        copy.fence = fence;
        waiters.forEach(copy::keep);
        return copy;
    }

    /** Keeps a place for this request. A waiter that is silent for two rechecks and a second loses it. */
    void enqueue(Ballot ballot, long nowNanos) {
        AcquireRequest request = ballot.request();
        long forgottenAtNanos =
                nowNanos + 2 * request.recheckNanos() + Duration.ofSeconds(1).toNanos();
        Place before = waiters.get(request.owner());
        long sinceAtNanos = before == null ? nowNanos : before.sinceAtNanos();
        boolean reads = request.names().get(0).isRead();
        keep(
                request.owner(),
                new Place(
                        request.holderId(),
                        reads,
                        ballot.reserve(),
                        ballot.claimNanos(),
                        ballot.place(),
                        sinceAtNanos,
                        forgottenAtNanos));
    }

    void keep(OwnerToken owner, Place place) {
        if (waiters.isEmpty()) {
            waiters = new LinkedHashMap<>(4);
        }
        waiters.put(owner, place);
        if (place.order() > 0) {
            // Those behind it move to its back, in their order.
            List<Map.Entry<OwnerToken, Place>> later = waiters.entrySet().stream()
                    .filter(waiter -> waiter.getValue().order() > place.order())
                    .map(Map.Entry::copyOf)
                    .toList();
            later.forEach(waiter -> waiters.remove(waiter.getKey()));
            later.forEach(waiter -> waiters.put(waiter.getKey(), waiter.getValue()));
        }
    }

    /** Returns the hold of a writer, unless it has ended by this time. */
    @Nullable
    Held heldAt(long nowNanos) {
        if (held != null && nowNanos - held.endsAtNanos() >= 0) {
            held = null;
        }
        return held;
    }

    /** Whether a writer or readers hold the lock at this time. */
    boolean isHeld(long nowNanos) {
        return heldAt(nowNanos) != null || readers.hold(nowNanos);
    }

    /** Returns the holder at this time, or null if the lock is free. */
    @Nullable
    Holder holder(long nowNanos) {
        Held current = heldAt(nowNanos);
        if (current != null) {
            return current.asHolder(nowNanos);
        }
        return readers.hold(nowNanos) ? readers.asHolder(nowNanos) : null;
    }

    /** Writes the hold of this ballot's reader. */
    void grantReader(Ballot ballot, long nowNanos) {
        fence = readers.grant(ballot, fence, nowNanos);
        waiters.remove(ballot.request().owner());
    }

    /** Makes a reader of the writer; returns whether the ballot's owner token is a reader then. */
    boolean downgrade(Ballot ballot, OwnerToken writer, long nowNanos) {
        Held current = heldAt(nowNanos);
        if (current != null && current.owner().equals(writer)) {
            held = null;
            grantReader(ballot, nowNanos);
            return true;
        }
        boolean isDone = readers.hold(nowNanos) && readers.has(ballot.request().owner());
        if (isDone) {
            grantReader(ballot, nowNanos);
        }
        return isDone;
    }

    /** Ends a reader, and raises both floors to this ballot, as far as the clock of the node allows. */
    void endReader(OwnerToken owner, long ballot, long serverMicros) {
        long most = Math.max(fence, serverMicros) + MAX_LEAD_MICROS;
        fence = readers.end(owner, Math.min(ballot, most), fence);
    }

    /**
     * Writes the hold of this ballot. The hold of the same owner token never ends earlier. That of a ticket may: a ttl
     * replaces the claim, which would outlive a holder that crashes.
     */
    void grant(Ballot ballot, long nowNanos) {
        AcquireRequest request = ballot.request();
        long endsAtNanos = nowNanos + request.ttlNanos();
        Held own = held;
        if (own != null && own.owner().equals(request.owner()) && own.endsAtNanos() - endsAtNanos > 0) {
            endsAtNanos = own.endsAtNanos();
        }
        held = new Held(request.owner(), request.holderId(), ballot.candidate(), endsAtNanos);
        fence = ballot.tokens().last();
        waiters.remove(request.owner());
    }

    /** Extends the hold of this owner token, as a writer or a reader; its end never becomes earlier. */
    RenewReply.Item renew(RenewBatch.Item item, long nowNanos) {
        if (item.name().isRead()) {
            return readers.renew(item.owner(), item.ttlNanos(), nowNanos);
        }
        Held current = heldAt(nowNanos);
        if (current == null || !current.owner().equals(item.owner())) {
            return new RenewReply.NotOurs();
        }
        long endsAtNanos = nowNanos + item.ttlNanos();
        if (endsAtNanos - current.endsAtNanos() > 0) {
            held = new Held(current.owner(), current.holderId(), current.token(), endsAtNanos);
        }
        return new RenewReply.Renewed(nowNanos);
    }

    /** Removes the hold of a writer, if it is that of this holder or of any, after raising the fence; returns it. */
    @Nullable
    Held remove(@Nullable String holderId, Serving step) {
        Held removed = heldAt(step.nowNanos());
        if (removed == null || (holderId != null && !holderId.equals(removed.holderId()))) {
            return null;
        }
        fence = Math.max(fence, step.serverMicros());
        held = null;
        return removed;
    }

    /** Raises the fence to this ballot, as far as the clock of the node allows. */
    void raise(long ballot, long serverMicros) {
        long most = Math.max(fence, serverMicros) + MAX_LEAD_MICROS;
        fence = Math.max(fence, Math.min(ballot, most));
    }

    /** Puts the ticket in the place of the holder; returns whether the ticket has the lock then. */
    boolean export(ExportRequest request, long nowNanos) {
        waiters.remove(request.owner());
        Held current = heldAt(nowNanos);
        if (current != null && current.owner().equals(request.owner())) {
            long endsAtNanos = request.claimNanos() == 0 ? current.endsAtNanos() : nowNanos + request.claimNanos();
            held = new Held(request.ticket(), request.holderId(), request.token(), endsAtNanos);
            return true;
        }
        return current != null && current.owner().equals(request.ticket());
    }

    /** Swaps the ticket's owner token for that of the ballot, and does nothing else; returns whether that has the lock. */
    boolean resume(Ballot ballot, OwnerToken ticket, long nowNanos) {
        boolean isTheirs = isTheirs(ballot, ticket, nowNanos);
        if (isTheirs) {
            grant(ballot, nowNanos);
        }
        return isTheirs;
    }

    /** The same at a node that is one of several: a vote does not move the end of the hold, and the second step does. */
    boolean resume(Ballot ballot, OwnerToken ticket, LockNode.Resume step, long nowNanos) {
        if (!isTheirs(ballot, ticket, nowNanos)) {
            return false;
        }
        AcquireRequest request = ballot.request();
        Held before = held;
        long endsAtNanos =
                before != null && step == LockNode.Resume.VOTE ? before.endsAtNanos() : nowNanos + request.ttlNanos();
        held = new Held(request.owner(), request.holderId(), ballot.candidate(), endsAtNanos);
        fence = ballot.tokens().last();
        return true;
    }

    /** Whether the ticket or the ballot's owner token has the lock. */
    private boolean isTheirs(Ballot ballot, OwnerToken ticket, long nowNanos) {
        Held current = heldAt(nowNanos);
        OwnerToken holder = current == null ? null : current.owner();
        boolean isTheirs = ticket.equals(holder) || ballot.request().owner().equals(holder);
        return isTheirs;
    }

    /**
     * Whether a free lock goes to this caller: it goes to its first waiter, and to a caller that does not wait only if
     * there are no waiters.
     */
    boolean isFirst(OwnerToken owner) {
        return waiters.isEmpty() || waiters.keySet().iterator().next().equals(owner);
    }

    /**
     * Ends an owner token, except the place of one whose attempt continues under another; returns whether it held the lock
     * as a writer.
     */
    boolean end(ReleaseRequest request, long nowNanos) {
        if (request.kind() != ReleaseRequest.Kind.SUPERSEDED) {
            waiters.remove(request.owner());
        }
        Held current = heldAt(nowNanos);
        boolean isHolder = current != null && current.owner().equals(request.owner());
        held = isHolder ? null : current;
        return isHolder;
    }

    /** Puts a waiter before all others for the holder: see {@link SuccessorRequest}. */
    SuccessorReply nameSuccessor(SuccessorRequest request, long nowNanos) {
        Held current = heldAt(nowNanos);
        if (current == null || !current.owner().equals(request.owner())) {
            return new SuccessorReply.NotOurs();
        }
        dropSilentWaiters(nowNanos);
        return putFirst(request.holderId()) ? new SuccessorReply.First() : new SuccessorReply.NotWaiting();
    }

    private boolean putFirst(String holderId) {
        for (Map.Entry<OwnerToken, Place> waiter : waiters.entrySet()) {
            if (!waiter.getValue().reads() && waiter.getValue().holderId().equals(holderId)) {
                Map<OwnerToken, Place> ordered = new LinkedHashMap<>();
                ordered.put(waiter.getKey(), waiter.getValue());
                waiters.forEach(ordered::putIfAbsent);
                waiters = ordered;
                return true;
            }
        }
        return false;
    }

    /** Whether a reader need not wait for the waiters before it: readers that come one after another share the lock. */
    boolean isBehindReadersOnly(OwnerToken owner) {
        for (Map.Entry<OwnerToken, Place> waiter : waiters.entrySet()) {
            if (waiter.getKey().equals(owner)) {
                return true;
            } else if (!waiter.getValue().reads()) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether no waiter keeps out this caller at a member of a set: writers and readers that wait keep out each other's
     * callers with a later place.
     */
    boolean letsPass(Ballot ballot) {
        if (waiters.isEmpty()) {
            return true;
        }
        boolean reads = ballot.request().names().get(0).isRead();
        long place = ballot.place() == 0 ? Long.MAX_VALUE : ballot.place();
        for (Place waiter : waiters.values()) {
            if (waiter.reads() != reads && waiter.order() > 0 && waiter.order() < place) {
                return false;
            }
        }
        return true;
    }

    void dropSilentWaiters(long nowNanos) {
        if (!waiters.isEmpty()) {
            waiters.values().removeIf(place -> nowNanos - place.forgottenAtNanos() >= 0);
        }
    }

    /** The places of the waiters that are not silent, in their order. */
    Collection<Place> waitersAt(long nowNanos) {
        dropSilentWaiters(nowNanos);
        return waiters.values();
    }

    /**
     * Removes the client's earlier place: at a member of a set a client has one place as a writer and one as a reader,
     * under any of its owner tokens.
     */
    void forgetPlaceOf(String holderId, boolean reads) {
        waiters.values().removeIf(place -> place.holderId().equals(holderId) && place.reads() == reads);
    }
}
