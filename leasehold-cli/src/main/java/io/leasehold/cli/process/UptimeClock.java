package io.leasehold.cli.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The kernel's clock since the start of the machine. Unlike {@link System#nanoTime}, it also counts while the machine is
 * suspended; unlike the wall clock, an operator cannot set it. Any thread may use it.
 */
public final class UptimeClock {

    /** The result of the methods if there is no such clock, or if it cannot be read at the moment. */
    public static final long UNKNOWN = 0;

    private static final Path UPTIME = Path.of("/proc/uptime");
    private static final long NANOS_PER_HUNDREDTH = 10_000_000L;

    private final boolean exists = Files.isReadable(UPTIME);

    /** Whether the system has such a clock. */
    boolean exists() {
        return exists;
    }

    /** The time in hundredths of a second, rounded down. */
    long hundredths() {
        if (!exists) {
            return UNKNOWN;
        }
        try {
            String text = Files.readString(UPTIME, StandardCharsets.US_ASCII);
            int dot = text.indexOf('.');
            return Long.parseLong(text.substring(0, dot)) * 100 + Long.parseLong(text.substring(dot + 1, dot + 3));
        } catch (IOException | IndexOutOfBoundsException | NumberFormatException e) {
            return UNKNOWN;
        }
    }

    /** The time in nanoseconds, up to a hundredth of a second early. */
    public long nanos() {
        return hundredths() * NANOS_PER_HUNDREDTH;
    }
}
