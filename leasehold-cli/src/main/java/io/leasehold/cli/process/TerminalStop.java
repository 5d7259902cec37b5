package io.leasehold.cli.process;

import io.leasehold.cli.process.ProcessTable.Row;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Stops this process at Ctrl-Z, like any other, but runs tasks before the stop and after the process continues. The
 * system decides whether the process is stopped: it does not stop it if no process could continue it. Create only one
 * per process.
 */
public final class TerminalStop implements AutoCloseable {

    private static final String STOP = "TSTP";

    /** The longest time until a signal that this process has sent to itself has reached it. */
    private static final long ARRIVAL_MILLIS = 200;

    private final Runnable before;
    private final Runnable after;
    private final Semaphore goingOn = new Semaphore(0);
    private boolean closed;

    private TerminalStop(Runnable before, Runnable after) {
        this.before = before;
        this.after = after;
    }

    /** Runs the first task before each stop and the second one after it, on a separate thread. */
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

    /**
     * Whether a process of this group has a parent in this session that can continue the group: otherwise the signal
     * has no effect.
     */
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
            // It may come a moment later than its sender ends, or be ignored: then no process continues.
            var unused = goingOn.tryAcquire(ARRIVAL_MILLIS, TimeUnit.MILLISECONDS);
        } catch (IOException noProcess) {
            // No process can be started now, so this one is not stopped.
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
