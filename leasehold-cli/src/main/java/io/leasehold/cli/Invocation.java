package io.leasehold.cli;

import io.leasehold.cli.output.Terminal;
import java.util.Map;

/**
 * What one start of the program brings with it.
 *
 * @param terminal where it writes
 * @param environment the environment variables
 */
public record Invocation(Terminal terminal, Map<String, String> environment) {

    /** Copies the environment. */
    public Invocation {
        environment = Map.copyOf(environment);
    }
}
