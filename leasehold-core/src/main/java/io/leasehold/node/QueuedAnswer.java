package io.leasehold.node;

import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import java.util.OptionalLong;

/**
 * The last answer of a node to a waiter, by which a later hand-over is counted. Pure.
 *
 * <p>The client sent the request at {@code s} by its own clock, and the node answered it at its time {@code S}, hence
 * after {@code s}. The node hands the lock over at its time {@code G}. Both times are of one clock, whose rate differs
 * from the client's by at most the drift ratio. So the hand-over is not before {@code s + (G − S)(1 − ρ)} by the
 * client's clock.
 *
 * @param server the incarnation that answered, as read on the connection of the answer
 * @param serverMicros {@code S}
 * @param sentAtNanos {@code s}, or earlier
 * @param recheckNanos the longest time between two requests of this waiter
 */
record QueuedAnswer(Incarnation server, long serverMicros, long sentAtNanos, long recheckNanos) {

    /** 1 − ρ, as a fraction: see {@link io.leasehold.LockOptions#driftOf}. */
    private static final long SLOWEST_PERCENT = 99;

    /** How far a node lets a fence run ahead of its clock, and a range more: a larger token is not the node's. */
    private static final long MAX_LEAD_MICROS = 8_000_000L;

    /**
     * Returns the time from which the hold of a hand-over may be counted, by the client's clock. Empty if the message
     * proves none: it came from another server, or over a channel that is younger than the request; it is older than
     * the answer, or so late that the waiter must have asked again; one of the clocks was set; or the tokens are not
     * those of a node.
     *
     * @param countedFromNanos {@code s}, or earlier by the time for which the machine has slept since
     * @param nowNanos when the client takes the message
     */
    OptionalLong heldFromNanos(HandOver handOver, long countedFromNanos, long nowNanos) {
        HandOver.Channel channel = handOver.channel();
        if (channel == null || !channel.server().equals(server) || channel.sinceAtNanos() - sentAtNanos > 0) {
            return OptionalLong.empty();
        }
        long passedMicros = handOver.serverMicros() - serverMicros;
        if (passedMicros < 0 || passedMicros > recheckNanos / 1_000) {
            return OptionalLong.empty();
        }
        if (handOver.tokens().last() - handOver.serverMicros() > MAX_LEAD_MICROS) {
            return OptionalLong.empty();
        }
        long fromNanos = countedFromNanos + passedMicros * 1_000 / 100 * SLOWEST_PERCENT;
        return fromNanos - nowNanos > 0 ? OptionalLong.empty() : OptionalLong.of(fromNanos);
    }
}
