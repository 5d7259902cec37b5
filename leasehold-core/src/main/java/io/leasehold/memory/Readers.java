package io.leasehold.memory;

import io.leasehold.Holder;
import io.leasehold.memory.NameState.Held;
import io.leasehold.node.Ballot;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The readers of one name, each with its own end, and their floor. Not thread-safe.
 *
 * <p>The floor of readers is below the fence of the name: readers raise the fence alone. It is kept with the fence of the
 * last change by a reader. Any other fence means that a writer came between, and then the fence is the floor of readers too.
 */
final class Readers {

    private Map<OwnerToken, Held> held = Collections.emptyMap();
    /** The highest ballot of a writer, or of a reader that has ended, if {@code fenceSeen} is the fence. */
    private long floor;
    /** The fence after the last change by a reader. */
    private long fenceSeen;

    Readers copy() {
        Readers copy = new Readers();
        copy.held = held.isEmpty() ? held : new LinkedHashMap<>(held);
        copy.floor = floor;
        copy.fenceSeen = fenceSeen;
        return copy;
    }

    /** The number that a reader's ballot must exceed. */
    long floor(long fence) {
        return fence == fenceSeen ? floor : fence;
    }

    /** Whether a reader holds the lock at this time; drops those whose time has ended. */
    boolean hold(long nowNanos) {
        if (!held.isEmpty()) {
            held.values().removeIf(reader -> nowNanos - reader.endsAtNanos() >= 0);
        }
        return !held.isEmpty();
    }

    /** Whether this owner token is a reader; its end is not checked. */
    boolean has(OwnerToken owner) {
        return held.containsKey(owner);
    }

    /** Whether there is an entry, perhaps of a reader whose time has ended. */
    boolean isEmpty() {
        return held.isEmpty();
    }

    /**
     * Writes the hold of this ballot, which never ends earlier than before.
     *
     * @param fence the fence before
     * @return the fence afterwards
     */
    long grant(Ballot ballot, long fence, long nowNanos) {
        AcquireRequest request = ballot.request();
        return grant(
                request.owner(),
                new Held(request.owner(), request.holderId(), ballot.candidate(), nowNanos + request.ttlNanos()),
                ballot.tokens().last(),
                fence);
    }

    long grant(OwnerToken owner, Held hold, long lastToken, long fence) {
        if (held.isEmpty()) {
            held = new LinkedHashMap<>(4);
        }
        Held own = held.get(owner);
        boolean endsEarlier = own != null && own.endsAtNanos() - hold.endsAtNanos() > 0;
        held.put(
                owner,
                endsEarlier && own != null ? new Held(owner, hold.holderId(), hold.token(), own.endsAtNanos()) : hold);
        return seen(floor(fence), Math.max(fence, lastToken));
    }

    private long seen(long newFloor, long newFence) {
        floor = newFloor;
        fenceSeen = newFence;
        return newFence;
    }

    /**
     * Ends this owner token: raises the floor and the fence to its ballot, or a late request of it would be granted.
     *
     * @param ballot its highest ballot, not above what the node allows
     * @return the fence afterwards
     */
    long end(OwnerToken owner, long ballot, long fence) {
        if (!held.isEmpty()) {
            held.remove(owner);
        }
        return raise(ballot, fence);
    }

    /** Raises the floor and the fence to this ballot; returns the fence afterwards. */
    long raise(long ballot, long fence) {
        return seen(Math.max(floor(fence), ballot), Math.max(fence, ballot));
    }

    /** Returns the answer to a request to renew this reader, whose end never becomes earlier. */
    RenewReply.Item renew(OwnerToken owner, long ttlNanos, long nowNanos) {
        if (!hold(nowNanos) || !has(owner)) {
            return new RenewReply.NotOurs();
        }
        held.computeIfPresent(owner, (same, own) -> {
            long endsAtNanos = nowNanos + ttlNanos;
            return endsAtNanos - own.endsAtNanos() > 0
                    ? new Held(own.owner(), own.holderId(), own.token(), endsAtNanos)
                    : own;
        });
        return new RenewReply.Renewed(nowNanos);
    }

    /** Removes the readers with this holder id, or all if it is null or stands for all; returns them. */
    List<Held> remove(@Nullable String holderId) {
        Predicate<Held> meant = holderId == null || holderId.equals(Holder.READERS)
                ? reader -> true
                : reader -> reader.holderId().equals(holderId);
        List<Held> removed = held.values().stream().filter(meant).toList();
        removed.forEach(reader -> held.remove(reader.owner()));
        return removed;
    }

    /** Returns readers that hold the lock at this time, at most so many. */
    List<Holder> holders(long nowNanos, int limit) {
        hold(nowNanos);
        return held.values().stream()
                .limit(limit)
                .map(reader -> reader.asHolder(nowNanos))
                .toList();
    }

    /** Returns the holder that stands for all readers: it ends when the last of them does. */
    Holder asHolder(long nowNanos) {
        long longest = 0;
        long token = 0;
        for (Held reader : held.values()) {
            longest = Math.max(longest, reader.endsAtNanos() - nowNanos);
            token = Math.max(token, reader.token());
        }
        return new Holder(Holder.READERS, Duration.ofNanos(longest), OptionalLong.of(token));
    }
}
