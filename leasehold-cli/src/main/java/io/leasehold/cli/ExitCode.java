package io.leasehold.cli;

/**
 * The exit codes of Leasehold itself. The list is closed and part of the contract.
 *
 * <p>A command run under a lock may end with the same numbers; the line on standard error distinguishes the two.
 */
public enum ExitCode {
    /** Done. */
    OK(0),
    /** The answer is no: violations in {@code demo}, a free lock in {@code show} and {@code who}. */
    FOUND(1),
    /** Wrong use: an unknown option, a value that breaks a rule, a malformed URI. */
    USAGE(64),
    /** The store cannot be reached or cannot serve now. */
    STORE_UNAVAILABLE(69),
    /** An internal error of Leasehold. */
    INTERNAL(70),
    /** Another holder kept the lock. */
    BUSY(75),
    /** The lease was lost, or about to be, while the command ran; or the lock is not kept for the ticket. */
    LEASE_LOST(76),
    /** The store refused: authentication, or a missing right. */
    ACCESS(77),
    /** The store's configuration makes locks unsafe, or this system cannot contain a command as required. */
    UNSAFE(78),
    /** The command exists but cannot be executed. */
    NOT_EXECUTABLE(126),
    /** There is no such command. */
    NOT_FOUND(127);

    /** The base for a death by signal n: the exit code is this plus n. */
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
