package io.leasehold.demo;

import java.io.IOException;
import java.time.Duration;

/** A demonstration of one hazard: made to happen, not waited for, so that it comes out the same on every machine. */
interface Scenario {

    /** What is typed. */
    String name();

    /** What it shows, in a few words. */
    String summary();

    /** How long each line is left to be read. */
    default Duration beat() {
        return Duration.ofMillis(300);
    }

    /**
     * Plays it.
     *
     * @return whether the histories prove that what was promised was kept
     */
    boolean play(Play play) throws DemoFailure, IOException, InterruptedException;
}
