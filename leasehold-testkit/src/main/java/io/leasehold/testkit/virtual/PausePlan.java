package io.leasehold.testkit.virtual;

/** Decides where a client pauses, and for how long. */
@FunctionalInterface
public interface PausePlan {

    /** Never. */
    PausePlan NEVER = point -> 0;

    /** A place in a client's work at which its process can be stopped with an effect that no other place has. */
    enum YieldPoint {
        /** The time of sending is taken, and the request has not left. */
        BEFORE_SEND,
        /** The reply has arrived, and was not processed yet. */
        AFTER_REPLY,
        /** The lease was found valid, and the protected resource was not used yet. */
        BEFORE_USE,
        /** A renewal was sent, and nothing else happens before its answer has waited. */
        IN_RENEWAL
    }

    /** Draws the duration of the client's pause at this point; zero for none. */
    long drawNanos(YieldPoint point);
}
