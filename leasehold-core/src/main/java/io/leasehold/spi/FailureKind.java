package io.leasehold.spi;

/** The effect of a failed request. */
public enum FailureKind {
    /** The request had no effect and never will; a retry may succeed. */
    NO_EFFECT,
    /** The request may have had an effect, or may have one later; a retry with the same owner token may succeed. */
    UNKNOWN,
    /** The request had no effect, and a retry does not help: missing permissions, wrong type, wrong configuration. */
    PERMANENT
}
