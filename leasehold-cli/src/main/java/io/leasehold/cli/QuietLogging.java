package io.leasehold.cli;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.LogManager;

/** The configuration of {@code java.util.logging}, to which some drivers write: errors only. Read when it is first used. */
public final class QuietLogging {

    static final String PROPERTY = "java.util.logging.config.class";

    /** Called by {@link LogManager}. */
    public QuietLogging() throws IOException {
        String configuration = "handlers=java.util.logging.ConsoleHandler\n.level=SEVERE\n";
        LogManager.getLogManager()
                .readConfiguration(new ByteArrayInputStream(configuration.getBytes(StandardCharsets.ISO_8859_1)));
    }
}
