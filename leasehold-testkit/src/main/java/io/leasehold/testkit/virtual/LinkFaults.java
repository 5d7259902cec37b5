package io.leasehold.testkit.virtual;

import java.time.Duration;

/** The faults of a {@link VirtualLink}: an immutable value; {@link #none()} has no faults, and withers add them. */
public final class LinkFaults {

    private static final LinkFaults NONE = new LinkFaults(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0);

    private final long leastDelayNanos;
    private final long mostDelayNanos;
    private final double loss;
    private final double duplication;
    private final double reordering;
    private final double resetting;
    private final double lateness;

    private LinkFaults(
            long leastDelayNanos,
            long mostDelayNanos,
            double loss,
            double duplication,
            double reordering,
            double resetting,
            double lateness) {
        this.leastDelayNanos = leastDelayNanos;
        this.mostDelayNanos = mostDelayNanos;
        this.loss = loss;
        this.duplication = duplication;
        this.reordering = reordering;
        this.resetting = resetting;
        this.lateness = lateness;
    }

    /** A perfect link. */
    public static LinkFaults none() {
        return NONE;
    }

    /** Delays each message by a time drawn uniformly between the two bounds. */
    public LinkFaults delay(Duration least, Duration most) {
        if (least.isNegative() || most.compareTo(least) < 0) {
            throw new IllegalArgumentException("link delay " + least + " to " + most + " is no range above zero");
        }
        return new LinkFaults(least.toNanos(), most.toNanos(), loss, duplication, reordering, resetting, lateness);
    }

    /** Loses each message with this probability. */
    public LinkFaults loss(double probability) {
        return new LinkFaults(
                leastDelayNanos,
                mostDelayNanos,
                probability(probability),
                duplication,
                reordering,
                resetting,
                lateness);
    }

    /** Delivers each message that is not lost a second time with this probability, up to four delays later. */
    public LinkFaults duplication(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, probability(probability), reordering, resetting, lateness);
    }

    /**
     * Reorders each message with this probability: it takes up to four times the largest delay, and later messages
     * overtake it. Without this a link keeps the order, as one connection does.
     */
    public LinkFaults reordering(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, duplication, probability(probability), resetting, lateness);
    }

    /**
     * Breaks the connection between a request and its reply with this probability: the node carries the request out,
     * and the client learns at once that the outcome is unknown. Applies to the link to the node.
     */
    public LinkFaults resetAfterSend(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, duplication, reordering, probability(probability), lateness);
    }

    /**
     * Delays a reply beyond its time limit with this probability, by up to the same time again, when the client has
     * given up on it. Applies to the link back.
     */
    public LinkFaults lateReply(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, duplication, reordering, resetting, probability(probability));
    }

    private static double probability(double value) {
        if (!(value >= 0.0 && value <= 1.0)) {
            throw new IllegalArgumentException("probability is " + value + "; it must be between 0 and 1");
        }
        return value;
    }

    long leastDelayNanos() {
        return leastDelayNanos;
    }

    long mostDelayNanos() {
        return mostDelayNanos;
    }

    double loss() {
        return loss;
    }

    double duplication() {
        return duplication;
    }

    double reordering() {
        return reordering;
    }

    double resetting() {
        return resetting;
    }

    double lateness() {
        return lateness;
    }

    @Override
    public String toString() {
        return "delay " + leastDelayNanos + ".." + mostDelayNanos + " ns, loss " + loss + ", duplication " + duplication
                + ", reordering " + reordering + ", reset after send " + resetting + ", late reply " + lateness;
    }
}
