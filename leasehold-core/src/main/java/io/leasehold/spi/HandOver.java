package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A lock, or permits, handed over to a waiter in the step that freed them. The node records the waiter's owner token as
 * the holder, for the claim time of its request.
 *
 * @param name the lock, or the permits with the {@linkplain LockName#permitCount() count} that the node keeps
 * @param attemptId the {@link OwnerToken#attemptId()} of the waiter
 * @param tokens the fencing tokens that the node reserved for it, and has stored as its fence
 * @param serverMicros the node's clock at the hand-over
 * @param channel the channel that delivered the message; null if the node cannot tell whose clock {@code serverMicros}
 *     shows
 * @param slots the slots of permits, in the order of their tokens; empty for a lock, or if the message does not name
 *     them
 */
public record HandOver(
        LockName name,
        String attemptId,
        TokenRange tokens,
        long serverMicros,
        @Nullable Channel channel,
        List<Integer> slots) {

    /**
     * The channel of a message, which leads to the server that handed the lock over, as do the client's requests. A
     * message that the server has passed on for another one has no channel.
     *
     * @param server the server's incarnation, read on this channel and named by the message
     * @param sinceAtNanos since when, by the client's clock, neither this channel nor that of the requests was broken
     */
    public record Channel(Incarnation server, long sinceAtNanos) {
        /** Refuses null. */
        public Channel {
            Objects.requireNonNull(server, "server");
        }
    }

    /** Creates a hand-over whose time no client can compare with an answer. */
    public HandOver(LockName name, String attemptId, TokenRange tokens, long serverMicros) {
        this(name, attemptId, tokens, serverMicros, null);
    }

    /** Creates a hand-over that names no slots. */
    public HandOver(LockName name, String attemptId, TokenRange tokens, long serverMicros, @Nullable Channel channel) {
        this(name, attemptId, tokens, serverMicros, channel, List.of());
    }

    /** Refuses nulls. */
    public HandOver {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(attemptId, "attemptId");
        Objects.requireNonNull(tokens, "tokens");
        slots = List.copyOf(slots);
    }

    /** Returns the same hand-over, as this channel delivered it. */
    public HandOver over(@Nullable Channel delivering) {
        return new HandOver(name, attemptId, tokens, serverMicros, delivering, slots);
    }

    /** Returns the same hand-over, of these slots. */
    public HandOver ofSlots(List<Integer> given) {
        return new HandOver(name, attemptId, tokens, serverMicros, channel, given);
    }
}
