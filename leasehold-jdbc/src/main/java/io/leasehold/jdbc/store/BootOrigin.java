package io.leasehold.jdbc.store;

import io.leasehold.spi.LockRuntime;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The zero of {@code nanoTime()} on this machine: the boot, so that values of different processes compare.
 *
 * <p>HotSpot reads {@code CLOCK_MONOTONIC} on Linux and {@code mach_absolute_time} on macOS, which all processes share
 * until the next boot. A Linux time namespace (a container may have one) shifts that clock for its processes by a
 * constant that the kernel reports.
 *
 * @param id the name of the boot
 * @param offsetNanos how far this process's clock is ahead of the machine's
 */
public record BootOrigin(String id, long offsetNanos) {

    private static final Pattern NAMESPACE_OFFSET =
            Pattern.compile("(?m)^\\s*(?:monotonic|1)\\s+(-?\\d+)\\s+(\\d+)\\s*$");
    private static final long TOLERANCE_NANOS = 1_000_000_000L;

    /** This machine's boot, or null if it is unknown or nanoTime does not count from it. */
    public static @Nullable BootOrigin find(LockRuntime runtime) {
        if (System.getProperty("os.name", "").startsWith("Mac")) {
            return mac("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid");
        }
        return linux(runtime, Path.of("/proc"));
    }

    /** Finds the boot by the output of a command. */
    static @Nullable BootOrigin mac(String... command) {
        String session = output(command);
        return session.isEmpty() ? null : new BootOrigin("boot:" + session, 0);
    }

    static @Nullable BootOrigin linux(LockRuntime runtime, Path proc) {
        try {
            String id =
                    Files.readString(proc.resolve("sys/kernel/random/boot_id")).strip();
            long sinceBootNanos = runtime.nanoTime();
            String uptime = Files.readString(proc.resolve("uptime")).strip();
            double uptimeNanos = Double.parseDouble(uptime.substring(0, uptime.indexOf(' '))) * 1e9;
            // Uptime continues while the machine sleeps, but CLOCK_MONOTONIC does not: it is only an upper bound.
            boolean countsFromBoot = sinceBootNanos >= 0 && sinceBootNanos <= uptimeNanos + TOLERANCE_NANOS;
            return id.isEmpty() || !countsFromBoot
                    ? null
                    : new BootOrigin("boot:" + id, namespaceOffset(proc.resolve("self/timens_offsets")));
        } catch (IOException | RuntimeException e) {
            // Not Linux, or /proc is hidden: the caller reports the consequence.
            return null;
        }
    }

    /** Kernels without time namespaces have no such file, and no such offset. */
    private static long namespaceOffset(Path file) throws IOException {
        if (!Files.exists(file)) {
            return 0;
        }
        Matcher matcher = NAMESPACE_OFFSET.matcher(Files.readString(file));
        return matcher.find()
                ? Long.parseLong(matcher.group(1)) * 1_000_000_000L + Long.parseLong(matcher.group(2))
                : 0;
    }

    private static String output(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            try (InputStream in = process.getInputStream()) {
                String text = new String(in.readAllBytes(), StandardCharsets.UTF_8).strip();
                return endsWell(process) ? text : "";
            }
        } catch (IOException e) {
            return "";
        }
    }

    /** Waits despite interrupts: otherwise this process would use another clock than its neighbours. */
    private static boolean endsWell(Process process) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return process.waitFor(5, TimeUnit.SECONDS) && process.exitValue() == 0;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
