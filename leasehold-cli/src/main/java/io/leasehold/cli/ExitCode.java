package io.leasehold.cli;

/**
 * The exit codes that are Leasehold's own. The list is closed and part of the contract.
 *
 * <p>A command run under a lock may end with the same numbers; the line on standard error tells the two apart.
 */
public enum ExitCode {
    /** Done. */
    OK(0),
    /** The answer is no: violations in {@code demo}, nobody holds the lock in {@code show} and {@code who}. */
    FOUND(1),
    /** Wrong use: an unknown option, a value that breaks a rule, a malformed URI. */
    USAGE(64),
    /** The store cannot be reached or cannot serve now. */
    STORE_UNAVAILABLE(69),
    /** A mistake inside Leasehold. */
    INTERNAL(70),
    /** The lock stayed with somebody else. */
    BUSY(75),
    /** The lease was lost, or about to be, while the command ran. */
    LEASE_LOST(76),
    /** The store refused: authentication, or a missing right. */
    ACCESS(77),
    /** The store is set up so that locks would not be safe, or this system cannot keep a command together as required. */
    UNSAFE(78),
    /** The command is there and cannot be executed. */
    NOT_EXECUTABLE(126),
    /** There is no such command. */
    NOT_FOUND(127);

    /** What a death by signal n is reported as: this plus n. */
    public static final int SIGNAL_BASE = 128;

    private final int code;

    ExitCode(int code) {
        this.code = code;
    }

    /** The number. */
    public int code() {
        return code;
    }
}
