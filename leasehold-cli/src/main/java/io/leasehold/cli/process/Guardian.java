package io.leasehold.cli.process;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A small shell beside this process that ends the command if this process cannot: because it was killed, which the
 * guardian learns from the end of a pipe whose only writer is this process, or because it was stopped or stalled until
 * the lease's validity ran out, which it learns from the clock.
 *
 * <p>The guardian is started before the command, in a session of its own, so that no moment is unguarded and neither the
 * keyboard nor a signal to our group reaches it. The kernel's parent-death signal is not used: it fires when the
 * <em>thread</em> that forked ends, reaches the command alone and not what it started, and exists on Linux only.
 *
 * <p>Deadlines are told on the kernel's up-time clock, which is read here <em>before</em> the validity is asked for: a
 * pause in between makes the deadline earlier, never later. Where that clock or {@code timeout(1)} is missing, the
 * guardian watches the pipe only. Any thread may use it.
 */
final class Guardian implements AutoCloseable {

    private static final Path UPTIME = Path.of("/proc/uptime");
    private static final int MOST_RESTARTS = 5;

    private final RunMark mark;
    private final Duration grace;
    private final SessionStarter sessions;
    private final boolean hasClock = Files.isReadable(UPTIME);
    private Process process;
    private @Nullable String commandLine;
    private @Nullable String deadlineLine;
    private @Nullable String lifeLine;
    private int restarts;

    private Guardian(RunMark mark, Duration grace, SessionStarter sessions) throws IOException {
        this.mark = mark;
        this.grace = grace;
        this.sessions = sessions;
        this.process = start();
    }

    /** Starts a guardian of whatever carries the mark. */
    static Guardian start(RunMark mark, Duration grace, SessionStarter sessions) throws IOException {
        return new Guardian(mark, grace, sessions);
    }

    private Process start() throws IOException {
        return ShellScript.start(
                sessions, "guardian.sh", "leasehold-guardian", mark.text(), Long.toString(grace.toMillis()));
    }

    /** The command was started; its process group, where it has one of its own, is killed as a whole. */
    synchronized void command(long pid, boolean ownGroup) {
        commandLine = "child " + pid + (ownGroup ? " " + pid : "");
        tell(commandLine);
    }

    /** The file to which it appends an {@code e} when nothing is left to guard and this process has died. */
    synchronized void life(Path file) {
        lifeLine = "life " + file;
        tell(lifeLine);
    }

    /** The point of the up-time clock now, in hundredths of a second; to be read before the validity is. */
    long now() {
        if (!hasClock) {
            return 0;
        }
        try {
            String text = Files.readString(UPTIME, StandardCharsets.US_ASCII);
            int dot = text.indexOf('.');
            return Long.parseLong(text.substring(0, dot)) * 100 + Long.parseLong(text.substring(dot + 1, dot + 3));
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    /** Kills at {@code from} (a result of {@link #now}) plus this time, unless a later deadline is told before. */
    synchronized void deadline(long from, long inNanos) {
        if (hasClock && from > 0) {
            deadlineLine = "deadline " + (from + Math.max(0, inNanos) / 10_000_000L);
            tell(deadlineLine);
        }
    }

    /** The lease's end is no reason to kill any more; our own death still is. */
    synchronized void noDeadline() {
        deadlineLine = null;
        tell("calm");
    }

    /** Whether it has killed. */
    synchronized boolean fired() {
        try {
            return process.getInputStream().available() > 0;
        } catch (IOException gone) {
            return false;
        }
    }

    /** Starts another one if somebody killed it. */
    synchronized void revive() throws IOException {
        if (!process.isAlive() && restarts < MOST_RESTARTS) {
            restarts++;
            process = start();
            if (commandLine != null) {
                tell(commandLine);
            }
            if (deadlineLine != null) {
                tell(deadlineLine);
            }
            if (lifeLine != null) {
                tell(lifeLine);
            }
        }
    }

    private void tell(String line) {
        try {
            OutputStream pipe = process.getOutputStream();
            pipe.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            pipe.flush();
        } catch (IOException gone) {
            // Somebody killed it: revive() starts another, which is then told the latest.
        }
    }

    /** Dismisses it: there is nothing left to guard. */
    @Override
    public synchronized void close() {
        tell("done");
        try (OutputStream pipe = process.getOutputStream()) {
            pipe.flush();
        } catch (IOException gone) {
            // It is not needed any more.
        }
    }
}
