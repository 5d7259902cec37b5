package io.leasehold.testkit.virtual;

import java.time.Duration;

/**
 * The faults of a {@link VirtualLink}: an immutable value; {@link #none()} delays nothing and loses
 * nothing, withers add to it.
 */
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

    /** Each message takes as long as drawn evenly between the two bounds. */
    public LinkFaults delay(Duration least, Duration most) {
        if (least.isNegative() || most.compareTo(least) < 0) {
            throw new IllegalArgumentException("link delay " + least + " to " + most + " is no range above zero");
        }
        return new LinkFaults(least.toNanos(), most.toNanos(), loss, duplication, reordering, resetting, lateness);
    }

    /** Each message is lost with this probability. */
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

    /** Each message that is not lost arrives a second time with this probability, up to four delays later. */
    public LinkFaults duplication(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, probability(probability), reordering, resetting, lateness);
    }

    /**
     * Each message leaves the order with this probability: it takes up to four times the largest delay, and
     * later ones overtake it. Without this a link keeps the order, as one connection does.
     */
    public LinkFaults reordering(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, duplication, probability(probability), resetting, lateness);
    }

    /**
     * With this probability the connection breaks between a request and its reply: the node carries the request out, and
     * the client is told at once that the outcome is unknown. It counts on the way to the node.
     */
    public LinkFaults resetAfterSend(double probability) {
        return new LinkFaults(
                leastDelayNanos, mostDelayNanos, loss, duplication, reordering, probability(probability), lateness);
    }

    /**
     * With this probability a reply comes up to as long again after its time limit, when the client has given it up. It
     * counts on the way back.
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
