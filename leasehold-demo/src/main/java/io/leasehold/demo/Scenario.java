package io.leasehold.demo;

import java.io.IOException;
import java.time.Duration;

/** A demonstration of one hazard, which it causes instead of waiting for it, so that it is the same on every machine. */
interface Scenario {

    /** The name on the command line. */
    String name();

    /** A short summary. */
    String summary();

    /** How long each line is shown. */
    default Duration beat() {
        return Duration.ofMillis(300);
    }

    /**
     * Plays it.
     *
     * @return whether the histories prove that the promises were kept
     */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException;
}
