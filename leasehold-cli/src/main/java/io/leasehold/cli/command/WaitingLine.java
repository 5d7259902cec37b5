package io.leasehold.cli.command;

import io.leasehold.Durations;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Terminal;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A line on a terminal with the holder that a run waits for and the time for which it has waited. It is written after
 * two seconds, replaced every two seconds, and cleared at the end. A terminal that cannot replace it gets one line that
 * stays. Without a terminal nothing is written.
 */
final class WaitingLine implements AutoCloseable {

    private static final long EVERY_SECONDS = 2;

    /** The width of most terminals. Of a longer line the end would be lost, which says most: the line does not wrap. */
    private static final int COLUMNS = 79;

    private static final int LEAST_FOR_THE_LOCK = 24;

    /** Of a holder that is cut: the beginning, with a part of the host's name. */
    private static final int BEGINNING = 20;

    private final LockAdmin admin;
    private final LockName lock;
    private final Terminal terminal;
    private final boolean replaces;
    private final long startedAtNanos = System.nanoTime();
    private String holder = "";
    private boolean looking;
    private boolean shown;
    private boolean closed;

    WaitingLine(LockAdmin admin, LockName lock, Invocation invocation) {
        this.admin = admin;
        this.lock = lock;
        this.terminal = invocation.terminal();
        this.replaces = !Terminal.isDumb(invocation.environment());
    }

    /** Waits for the result. */
    <T> T await(CompletableFuture<T> result) throws InterruptedException, ExecutionException {
        try {
            return result.get(EVERY_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException longer) {
            // Only now: a short wait starts no shell.
            if (!Terminal.leadsToTerminal(2)) {
                return result.get();
            }
        }
        if (!replaces) {
            look();
            return result.get();
        }
        while (true) {
            look();
            draw();
            try {
                return result.get(EVERY_SECONDS, TimeUnit.SECONDS);
            } catch (TimeoutException longer) {
                // The next line.
            }
        }
    }

    /** Asks on a separate thread: a grant must not wait for a slow answer of the store. */
    private synchronized void look() {
        if (looking) {
            return;
        }
        looking = true;
        Thread thread = new Thread(
                () -> {
                    String seen = seen();
                    synchronized (this) {
                        holder = seen;
                        looking = false;
                    }
                    draw();
                },
                "leasehold-waiting-line");
        thread.setDaemon(true);
        thread.start();
    }

    private String seen() {
        try {
            return RunAttempt.holders(admin, lock);
        } catch (RuntimeException unavailable) {
            return ": the store does not answer";
        }
    }

    private synchronized void draw() {
        if (closed) {
            return;
        }
        shown = true;
        if (!replaces) {
            terminal.complain("waiting for " + lock.text() + holder);
        } else {
            terminal.progress(text(lock.text(), holder, Duration.ofNanos(System.nanoTime() - startedAtNanos)));
        }
    }

    static String text(String lock, String holder, Duration waited) {
        String time = ", " + Durations.text(Duration.ofSeconds(waited.toSeconds()));
        String end = cut(holder, COLUMNS - LEAST_FOR_THE_LOCK - time.length()) + time;
        String start = "waiting for " + lock;
        int room = Math.max(0, COLUMNS - 1 - end.length());
        return start.length() <= room ? start + end : start.substring(0, room) + "\u2026" + end;
    }

    /** Cuts the middle: the id ends with the label, which names the user and the command. */
    private static String cut(String holder, int most) {
        return holder.length() <= most
                ? holder
                : holder.substring(0, BEGINNING)
                        + "\u2026"
                        + holder.substring(holder.length() - (most - BEGINNING - 1));
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (shown && replaces) {
            terminal.progress("");
        }
    }
}
