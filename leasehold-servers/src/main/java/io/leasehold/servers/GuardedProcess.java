package io.leasehold.servers;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A child process that cannot outlive this JVM, even when the JVM is killed with SIGKILL.
 *
 * <p>Next to each child runs a guardian: a shell that blocks reading a pipe whose only writer is this JVM. The kernel
 * closes that pipe when the JVM ends, in any way; the guardian then kills the child. The kernel's own parent-death
 * signal ({@code prctl}, {@code setpriv --pdeathsig}) is not used: it fires when the <em>thread</em> that forked ends, so a
 * server would die with the test thread that happened to start it, and it exists on Linux only.
 *
 * <p>There is no window in which the child is unguarded: it first waits in a shell for a line on its standard input, gets
 * that line only after the guardian knows its pid, and leaves if the pipe ends before. The shell then {@code exec}s the
 * command, so that {@link #pid()} is the command's own.
 *
 * <p>The testkit has the same guard for child JVMs; neither module may depend on the other. Safe for use by any thread.
 */
final class GuardedProcess {
    private static final String WAIT_THEN_EXEC = "read -r go && exec \"$@\" </dev/null";
    // The keyboard's signals reach the whole process group; the guardian must survive them to do its work. A line
    // reports the
    // end of a server, so that a pid that may have been reused is never killed.
    private static final String GUARD = """
            trap '' INT TERM HUP
            PATH=/usr/bin:/bin
            read -r pid || exit 0
            read -r ended || { kill -KILL "$pid"; [ -z "$1" ] || rm -rf -- "$1"; }
            """;

    private final Process child;

    private GuardedProcess(Process child) {
        this.child = child;
    }

    /**
     * Starts the command with standard output and error appended to {@code log}.
     *
     * @param disposable a directory the guardian removes if this JVM dies before the child, or null
     */
    static GuardedProcess start(List<String> command, Path directory, Path log, @Nullable Path disposable)
            throws IOException {
        Process guardian = shell(GUARD, List.of(disposable == null ? "" : disposable.toString()))
                .redirectOutput(Redirect.DISCARD)
                .redirectError(Redirect.DISCARD)
                .directory(new File("/"))
                .start();
        OutputStream lifeline = guardian.getOutputStream();
        try {
            Process child = shell(WAIT_THEN_EXEC, command)
                    .redirectErrorStream(true)
                    .redirectOutput(Redirect.appendTo(log.toFile()))
                    .directory(directory.toFile())
                    .start();
            writeLine(lifeline, Long.toString(child.pid()));
            try (OutputStream gate = child.getOutputStream()) {
                writeLine(gate, "go");
            }
            var unused = child.onExit().thenRun(() -> dismiss(lifeline));
            return new GuardedProcess(child);
        } catch (IOException | RuntimeException e) {
            // Ending the pipe without the second line makes the guardian kill everything that was started.
            lifeline.close();
            throw e;
        }
    }

    long pid() {
        return child.pid();
    }

    boolean isAlive() {
        return child.isAlive();
    }

    /** The exit code, or 128 + n after signal n; only after the end. */
    int exitCode() {
        return child.exitValue();
    }

    /** SIGKILL; does not wait. */
    void kill() {
        child.destroyForcibly();
    }

    /** Sends a signal by its name without SIG ({@code STOP}, {@code CONT}); a process that has ended is left alone. */
    void signal(String name) throws IOException, InterruptedException {
        if (!child.isAlive()) {
            return;
        }
        // The shell's own kill: minimal images carry no kill(1).
        Process kill = shell("kill -s \"$1\" \"$2\"", List.of(name, Long.toString(pid())))
                .redirectErrorStream(true)
                .start();
        String complaint = new String(kill.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (kill.waitFor() != 0 && child.isAlive()) {
            throw new IOException("cannot send SIG" + name + " to process " + pid() + ": " + complaint);
        }
    }

    boolean waitFor(Duration patience) throws InterruptedException {
        return child.waitFor(patience.toNanos(), TimeUnit.NANOSECONDS);
    }

    private static ProcessBuilder shell(String script, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", script, "sh"));
        command.addAll(arguments);
        return new ProcessBuilder(command);
    }

    private static void writeLine(OutputStream out, String line) throws IOException {
        out.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    private static void dismiss(OutputStream lifeline) {
        try (lifeline) {
            writeLine(lifeline, "ended");
        } catch (IOException guardianIsGone) {
            // The guardian was killed; nothing is left to guard.
        }
    }
}
