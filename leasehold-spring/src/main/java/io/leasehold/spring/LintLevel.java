package io.leasehold.spring;

/** The treatment of findings of the startup check that do not prevent the application from starting. */
public enum LintLevel {
    /** Each is logged as a warning. */
    WARN,
    /** The application does not start. */
    FAIL,
    /** The check does not run. */
    OFF
}
