package io.leasehold.spring;

/** The treatment of findings of the check at start that do not stop the application by themselves. */
public enum LintLevel {
    /** Each is logged as a warning. */
    WARN,
    /** The application does not start. */
    FAIL,
    /** They are not looked for. */
    OFF
}
