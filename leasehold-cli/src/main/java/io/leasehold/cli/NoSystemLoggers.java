package io.leasehold.cli;

import java.util.ResourceBundle;
import org.jspecify.annotations.Nullable;

/**
 * Loggers of the JDK itself that write nothing. Newer JDKs ask for one when they start a process; those of {@code
 * java.util.logging} take a tenth of a start.
 */
public final class NoSystemLoggers extends System.LoggerFinder {

    private static final System.Logger NOWHERE = new Nowhere();

    /** Created by {@link System}. */
    public NoSystemLoggers() {}

    @Override
    public System.Logger getLogger(String name, Module module) {
        return NOWHERE;
    }

    private static final class Nowhere implements System.Logger {

        @Override
        public String getName() {
            return "nowhere";
        }

        @Override
        public boolean isLoggable(Level level) {
            return false;
        }

        @Override
        public void log(
                Level level, @Nullable ResourceBundle bundle, @Nullable String text, @Nullable Throwable thrown) {
            // Nothing is loggable.
        }

        @Override
        public void log(
                Level level, @Nullable ResourceBundle bundle, @Nullable String format, @Nullable Object... parameters) {
            // Nothing is loggable.
        }
    }
}
