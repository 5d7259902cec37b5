package io.leasehold.redis.topology;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs a step on which no later step depends: an exception is logged. */
final class Isolated {

    private static final Logger LOG = LoggerFactory.getLogger(Isolated.class);

    private Isolated() {}

    static void run(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            LOG.error("a step at the end of a connection failed", e);
        }
    }
}
