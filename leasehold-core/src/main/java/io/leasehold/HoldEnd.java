package io.leasehold;

/** How a hold ended. The list is closed; handle unknown values all the same. */
public sealed interface HoldEnd {

    /**
     * The holder gave it back.
     *
     * @param outcome what the store confirmed
     */
    record Released(ReleaseOutcome outcome) implements HoldEnd {}

    /**
     * It ended before the holder gave it back.
     *
     * @param cause why
     */
    record Lost(LossCause cause) implements HoldEnd {}
}
