package io.leasehold.redis.topology;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs a step that must not keep the next ones from running: what it throws is logged. */
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
