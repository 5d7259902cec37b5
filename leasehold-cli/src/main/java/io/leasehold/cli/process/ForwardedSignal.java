package io.leasehold.cli.process;

/** The signals that are passed on to the command. (A JVM keeps QUIT and USR2 for itself.) */
public enum ForwardedSignal {
    /** An interrupt from the keyboard, or a request to stop. */
    INT(true),
    /** The request to end. */
    TERM(true),
    /** The terminal has gone, or a request to read the configuration again. */
    HUP(false),
    /** Defined by the command. */
    USR1(false);

    private final boolean forAll;

    ForwardedSignal(boolean forAll) {
        this.forAll = forAll;
    }

    /** Whether all processes of the command receive it, or the command alone. */
    boolean forAll() {
        return forAll;
    }
}
