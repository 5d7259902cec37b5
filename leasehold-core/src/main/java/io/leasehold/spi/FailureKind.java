package io.leasehold.spi;

/** What a failed request means for the caller. */
public enum FailureKind {
    /** It had no effect and never will have; trying again may help. */
    NO_EFFECT,
    /** It may have had an effect, or may have one later; trying again with the same owner token may help. */
    UNKNOWN,
    /** It had no effect, and trying again does not help: rights, wrong type, wrong configuration. */
    PERMANENT
}
