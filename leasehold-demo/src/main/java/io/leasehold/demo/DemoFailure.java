package io.leasehold.demo;

/** Thrown if the demonstration could not be completed; the message gives the reason. It allows no verdict. */
public final class DemoFailure extends Exception {

    private static final long serialVersionUID = 1L;

    DemoFailure(String message) {
        super(message);
    }
}
