package io.leasehold.demo;

import java.io.IOException;
import java.time.Duration;

/**
 * A demonstration of one hazard, which it causes instead of waiting for it, so that it is the same on every machine.
 *
 * @param name the name on the command line
 * @param summary a short summary
 * @param beat how long each line is shown
 * @param plot the course of events
 */
record Scenario(String name, String summary, Duration beat, Plot plot) {

    Scenario(String name, String summary, Plot plot) {
        this(name, summary, Duration.ofMillis(300), plot);
    }

    /** The course of a demonstration. */
    interface Plot {

        /**
         * Plays it.
         *
         * @return whether the histories prove that the promises were kept
         */
        boolean play(Play play) throws DemoFailure, IOException, InterruptedException;
    }
}
