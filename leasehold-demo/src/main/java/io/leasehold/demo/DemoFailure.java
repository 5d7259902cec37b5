package io.leasehold.demo;

/** The demonstration could not be completed; the message gives the reason. No verdict follows from it. */
public final class DemoFailure extends Exception {

    private static final long serialVersionUID = 1L;

    DemoFailure(String message) {
        super(message);
    }
}
