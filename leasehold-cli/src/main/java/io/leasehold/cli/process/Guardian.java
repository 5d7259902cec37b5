package io.leasehold.cli.process;

import io.leasehold.cli.process.ProcessTable.Row;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A small shell that ends the command if this process cannot: if this process is killed, the guardian reads the end of a pipe
 * whose only writer is this process; if it is stopped or stalled until the lease's validity has run out, the guardian sees that from the clock.
 *
 * <p>The guardian is started before the command, in its own session, so that no moment is unguarded and neither the
 * keyboard nor a signal to our group reaches it. The kernel's parent-death signal is not used: it fires when the
 * <em>thread</em> that forked ends, reaches only the command and not its children, and exists only on Linux.
 *
 * <p>Deadlines are sent in the kernel's up-time clock, which is read here <em>before</em> the validity: a pause in between
 * makes the deadline earlier, never later. If that clock or {@code timeout(1)} is missing, the guardian watches only the pipe. Any thread may use it.
 */
final class Guardian implements AutoCloseable {

    private static final int MAX_RESTARTS = 5;
    private static final int TELLING_SECONDS = 2;

    /** A guardian that lived this long did not fail at its start. */
    private static final long GOOD_LIFE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final RunMark mark;
    private final Duration grace;
    private final SessionStarter sessions;
    private final @Nullable ControlGroup group;
    private final UptimeClock uptime = new UptimeClock();
    private Process process;
    private long startedAtNanos;
    private final ExecutorService writer = Executors.newSingleThreadExecutor(Guardian::daemon);
    private final List<String> commandLines = new ArrayList<>();
    private final Set<Row> known = new HashSet<>();
    private @Nullable String deadlineLine;
    private @Nullable String lifeLine;
    private Runnable onEnd = () -> {};
    private int restarts;
    private boolean firedBefore;

    private Guardian(RunMark mark, Duration grace, SessionStarter sessions, @Nullable ControlGroup group)
            throws IOException {
        this.mark = mark;
        this.grace = grace;
        this.sessions = sessions;
        this.group = group;
        this.startedAtNanos = System.nanoTime();
        this.process = start();
    }

    /** Starts a guardian of all processes that carry the mark or are in the group, if there is one. */
    static Guardian start(RunMark mark, Duration grace, SessionStarter sessions, @Nullable ControlGroup group)
            throws IOException {
        return new Guardian(mark, grace, sessions, group);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "leasehold-guardian-pipe");
        thread.setDaemon(true);
        return thread;
    }

    private Process start() throws IOException {
        return ShellScript.start(
                sessions,
                "guardian.sh",
                "leasehold-guardian",
                mark.text(),
                Long.toString(grace.toMillis()),
                group == null ? "" : group.directory().toString());
    }

    /** The command was started; its process group, if it has its own, is killed as a whole. */
    synchronized void command(StartedCommand command, ProcessTable table) {
        ProcessHandle adopter = command.adopter();
        if (adopter != null) {
            commandLines.add("reaper " + adopter.pid() + " " + start(adopter.pid(), table));
        }
        long pid = command.pid();
        if (adopter == null || adopter.pid() != pid) {
            commandLines.add("child " + pid + " " + start(pid, table) + (command.ownGroup() ? " " + pid : ""));
        }
        commandLines.forEach(this::tell);
    }

    /** When a process began, as the process table shows it; 0 if that is unknown. */
    static long start(long pid, ProcessTable table) {
        try {
            return table.row(pid).map(Row::start).orElse(0L);
        } catch (IOException unknown) {
            return 0;
        }
    }

    /** Records processes of the run that only their parents identify. */
    synchronized void know(List<Row> strays) {
        known.retainAll(strays);
        for (Row stray : strays) {
            if (known.add(stray)) {
                tell("known " + stray.pid() + " " + stray.start());
            }
        }
    }

    /** Registers an action for its end, on a separate thread, which may call {@link #revive}. */
    synchronized void onEnd(Runnable action) {
        onEnd = action;
        process.onExit().thenRun(action);
    }

    /** Sets the file to which it appends an {@code e} when no process is left to guard and this process has died. */
    synchronized void life(Path file) {
        lifeLine = "life " + file;
        tell(lifeLine);
    }

    /** The up-time clock now, in hundredths of a second; must be read before the validity. */
    long now() {
        return uptime.hundredths();
    }

    /** Kills at {@code from} (a result of {@link #now}) plus this time, unless a later deadline is set before. */
    synchronized void deadline(long from, long inNanos) {
        if (uptime.exists() && from > UptimeClock.UNKNOWN) {
            deadlineLine = "deadline " + (from + Math.max(0, inNanos) / 10_000_000L);
            tell(deadlineLine);
        }
    }

    /** The end of the lease no longer triggers a kill; the death of this process still does. */
    synchronized void noDeadline() {
        deadlineLine = null;
        tell("calm");
    }

    /** Whether it has killed. */
    synchronized boolean fired() {
        try {
            return firedBefore || process.getInputStream().available() > 0;
        } catch (IOException gone) {
            return false;
        }
    }

    /**
     * Starts another one if it was killed.
     *
     * @return whether a guardian lives
     */
    synchronized boolean revive() {
        if (process.isAlive() && !endIfStopped()) {
            return true;
        }
        if (System.nanoTime() - startedAtNanos > GOOD_LIFE_NANOS) {
            restarts = 0;
        }
        if (restarts >= MAX_RESTARTS) {
            return false;
        }
        restarts++;
        firedBefore = fired();
        try {
            startedAtNanos = System.nanoTime();
            process = start();
        } catch (IOException noProcess) {
            return false;
        }
        process.onExit().thenRun(onEnd);
        commandLines.forEach(this::tell);
        known.forEach(stray -> tell("known " + stray.pid() + " " + stray.start()));
        if (deadlineLine != null) {
            tell(deadlineLine);
        }
        if (lifeLine != null) {
            tell(lifeLine);
        }
        return true;
    }

    /** Ends a guardian that was stopped, since it guards nothing; returns whether it was, and has ended now. */
    private boolean endIfStopped() {
        try {
            String stat = Files.readString(
                    Path.of("/proc", Long.toString(process.pid()), "stat"), StandardCharsets.ISO_8859_1);
            if (!stat.substring(stat.lastIndexOf(')') + 1)
                    .stripLeading()
                    .toLowerCase(Locale.ROOT)
                    .startsWith("t")) {
                return false;
            }
            process.destroyForcibly();
            return process.waitFor(TELLING_SECONDS, TimeUnit.SECONDS);
        } catch (IOException notLinux) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Lets it end everything that it guards, as if this process had died, and waits for that. */
    void endAll() {
        Process ending;
        synchronized (this) {
            onEnd = () -> {};
            ending = process;
            try (OutputStream pipe = ending.getOutputStream()) {
                pipe.flush();
            } catch (IOException gone) {
                // It was killed: all visible processes were killed before.
            }
        }
        ending.onExit().join();
    }

    /** Sends a line. A guardian that was stopped reads nothing: it is killed, and {@link #revive} starts another, which receives the latest. */
    private void tell(String line) {
        Process told = process;
        Future<?> writing = writer.submit(() -> {
            OutputStream pipe = told.getOutputStream();
            pipe.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            pipe.flush();
            return line;
        });
        try {
            writing.get(TELLING_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException stopped) {
            told.destroyForcibly();
        } catch (ExecutionException gone) {
            // It was killed.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Dismisses it: nothing is left to guard. */
    @Override
    public synchronized void close() {
        tell("done");
        try (OutputStream pipe = process.getOutputStream()) {
            pipe.flush();
        } catch (IOException gone) {
            // It is not needed any more.
        }
        writer.shutdown();
    }
}
