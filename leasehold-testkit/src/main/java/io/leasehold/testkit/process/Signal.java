package io.leasehold.testkit.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The POSIX signals with which tests stop, continue and end processes. */
public enum Signal {
    /** Freezes the process; cannot be caught. */
    STOP,
    /** Resumes a frozen process. */
    CONT,
    /** Asks the process to end; a JVM runs its shutdown hooks. */
    TERM,
    /** The signal of a terminal for Ctrl-C. */
    INT,
    /** The signal when a terminal ends. */
    HUP,
    /** Ends the process, frozen or not; cannot be caught. */
    KILL;

    private static final Path SHELL = Path.of("/bin/sh");

    /** Whether this system has signals; otherwise tests that need them are skipped with a message. */
    public static boolean areSupported() {
        return Files.isExecutable(SHELL);
    }

    /**
     * Sends this signal.
     *
     * @throws IllegalStateException if there is no such process, or this user may not signal it
     */
    public void sendTo(long pid) throws InterruptedException {
        try {
            // The shell's own kill: minimal images carry no kill(1).
            Process kill = new ProcessBuilder(
                            List.of(SHELL.toString(), "-c", "kill -s \"$1\" \"$2\"", "sh", name(), Long.toString(pid)))
                    .redirectErrorStream(true)
                    .start();
            String complaint = new String(kill.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("cannot send SIG" + name() + " to process " + pid + ": " + complaint);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot send SIG" + name() + " to process " + pid, e);
        }
    }
}
