package io.leasehold.spi;

/** The effect of a failed request. */
public enum FailureKind {
    /** It had no effect and never will; a retry may succeed. */
    NO_EFFECT,
    /** It may have had an effect, or may have one later; a retry with the same owner token may succeed. */
    UNKNOWN,
    /** It had no effect, and a retry does not help: missing rights, wrong type, wrong configuration. */
    PERMANENT
}
