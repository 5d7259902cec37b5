package io.leasehold.testkit.virtual;

/** Draws where a client stands still, and for how long. */
@FunctionalInterface
public interface PausePlan {

    /** Never. */
    PausePlan NEVER = point -> 0;

    /** A place in a client's work at which its process can be stopped with an effect that no other place has. */
    enum YieldPoint {
        /** The time of sending is taken, and the request has not left. */
        BEFORE_SEND,
        /** The reply has arrived, and nobody has looked at it. */
        AFTER_REPLY,
        /** The lease was found valid, and what it protects has not been touched. */
        BEFORE_USE,
        /** A renewal was sent, and nothing else happens before its answer has waited. */
        IN_RENEWAL
    }

    /** For how long the client stands still here and now; zero for not at all. */
    long drawNanos(YieldPoint point);
}
