package io.leasehold.demo;

/** The demonstration could not be played to its end; the message says why. No verdict follows from it. */
public final class DemoFailure extends Exception {

    private static final long serialVersionUID = 1L;

    DemoFailure(String message) {
        super(message);
    }
}
