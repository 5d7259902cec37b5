package io.leasehold.cli.process;

import io.leasehold.cli.process.ProcessTable.Row;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Ctrl-Z, which stops this process as it stops others: something can be done before that, and when the process goes on. The
 * system decides whether it is stopped at all: it is not where nobody could let it go on. One of these in a process.
 */
public final class TerminalStop implements AutoCloseable {

    private static final String STOP = "TSTP";

    /** How long this process runs at most until a signal that it has sent to itself has reached it. */
    private static final long ARRIVAL_MILLIS = 200;

    private final Runnable before;
    private final Runnable after;
    private final Semaphore goingOn = new Semaphore(0);
    private boolean closed;

    private TerminalStop(Runnable before, Runnable after) {
        this.before = before;
        this.after = after;
    }

    /** Does this before each stop, and that after it, on a separate thread. */
    public static TerminalStop surrounded(Runnable before, Runnable after) {
        TerminalStop stop = new TerminalStop(before, after);
        JvmSignals.handle("CONT", stop.goingOn::release);
        JvmSignals.handle(STOP, stop::stop);
        return stop;
    }

    private synchronized void stop() {
        boolean told = !closed && isUnderJobControl();
        if (told) {
            before.run();
        }
        JvmSignals.leaveToTheSystem(STOP, this::stopAsUsual);
        if (told && !closed) {
            after.run();
        }
    }

    /** Whether a process of our group has a parent in our session that can let the group go on: otherwise the signal has no effect. */
    private static boolean isUnderJobControl() {
        Map<Long, Row> rows = new HashMap<>();
        try {
            ProcessTable.ofThisSystem().rows().forEach(row -> rows.put(row.pid(), row));
        } catch (IOException noTable) {
            return true;
        }
        Row own = rows.get(ProcessHandle.current().pid());
        return own == null
                || rows.values().stream()
                        .filter(row -> row.group() == own.group())
                        .map(row -> rows.get(row.parent()))
                        .anyMatch(parent ->
                                parent != null && parent.group() != own.group() && parent.session() == own.session());
    }

    private void stopAsUsual() {
        goingOn.drainPermits();
        try {
            new Signals().send(STOP, List.of(ProcessHandle.current().pid()));
            // It may come a moment later than its sender ends, or be ignored: then nothing goes on.
            var unused = goingOn.tryAcquire(ARRIVAL_MILLIS, TimeUnit.MILLISECONDS);
        } catch (IOException noProcess) {
            // None can be started now: it is not stopped.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Does nothing around later stops. */
    @Override
    public synchronized void close() {
        closed = true;
    }
}
