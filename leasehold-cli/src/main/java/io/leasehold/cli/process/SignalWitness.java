package io.leasehold.cli.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Distinguishes a signal to the whole process group, which has reached the command already, from one to this process
 * alone, which must be passed on.
 *
 * <p>The JDK does not report the target of a signal. A shell in the same group catches the same signals: a signal that
 * reached it, too, went to the group. Without the witness Ctrl-C would interrupt the command twice, and many programs
 * treat the second as "at once". Used if the command shares the group of this process, that is, with a terminal.
 */
final class SignalWitness implements AutoCloseable {

    /** The time limit for an answer. A working witness answers as soon as it is scheduled. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** The kernel signals the processes of a group one after the other, perhaps this process before the witness. */
    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long MEMORY_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final Process process;
    private final Map<ForwardedSignal, Deque<Long>> seenAtNanos = new EnumMap<>(ForwardedSignal.class);
    /** When the last report of each signal came, if a question has used it. */
    private final Map<ForwardedSignal, Long> usedAtNanos = new EnumMap<>(ForwardedSignal.class);

    private boolean ready;
    private boolean gone;
    private long asked;
    private long answered;

    private SignalWitness(Process process) {
        this.process = process;
    }

    /** Starts it in the group of this process. */
    static @Nullable SignalWitness start() {
        try {
            SignalWitness witness =
                    new SignalWitness(ShellScript.start(SessionStarter.none(), "witness.sh", "leasehold-witness"));
            Thread reader = new Thread(witness::read, "leasehold-witness");
            reader.setDaemon(true);
            reader.start();
            return witness;
        } catch (IOException none) {
            return null;
        }
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            for (String line; (line = lines.readLine()) != null; ) {
                said(line);
            }
        } catch (IOException broken) {
            // Treat the witness as ended.
        } finally {
            ended();
        }
    }

    /** The witness has ended: every signal is passed on from now on. */
    private synchronized void ended() {
        gone = true;
        notifyAll();
    }

    private synchronized void said(String line) {
        switch (line) {
            case "READY" -> ready = true;
            case "SAID" -> answered++;
            default -> seen(ForwardedSignal.valueOf(line)).addLast(System.nanoTime());
        }
        notifyAll();
    }

    private Deque<Long> seen(ForwardedSignal signal) {
        return seenAtNanos.computeIfAbsent(signal, any -> new ArrayDeque<>());
    }

    /** Waits until it catches signals; earlier ones cannot be distinguished. Bounded by the time limit. */
    synchronized void awaitReady() {
        await(() -> ready, PATIENCE_NANOS);
    }

    /** Forgets the signals that have arrived: what is started afterwards did not receive them. */
    synchronized void forget() {
        if (ready) {
            ask();
        }
        seenAtNanos.clear();
        usedAtNanos.clear();
    }

    /**
     * Asks the witness whether this signal, which has just reached this process, went to the whole group.
     *
     * @param notedAtNanos when it reached this process, by the monotonic clock
     */
    synchronized boolean wentToGroup(ForwardedSignal signal, long notedAtNanos) {
        if (saw(signal)) {
            return true;
        }
        if (ready && ask()) {
            await(() -> !seen(signal).isEmpty(), LATE_NANOS);
        }
        // Even if it has ended meanwhile: its last reports count.
        return saw(signal) || isReported(signal, notedAtNanos);
    }

    /** Signals of one kind that arrive before the witness runs are one to it, as to any process: it reports them once. */
    private boolean isReported(ForwardedSignal signal, long notedAtNanos) {
        Long lastAtNanos = usedAtNanos.get(signal);
        return lastAtNanos != null && lastAtNanos - notedAtNanos >= 0;
    }

    private boolean saw(ForwardedSignal signal) {
        Deque<Long> seen = seen(signal);
        while (!seen.isEmpty() && System.nanoTime() - seen.getFirst() > MEMORY_NANOS) {
            seen.removeFirst();
        }
        Long reportedAtNanos = seen.pollFirst();
        if (reportedAtNanos == null) {
            return false;
        }
        usedAtNanos.put(signal, reportedAtNanos);
        return true;
    }

    /** Whether it has reported all signals that it received. */
    private boolean ask() {
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        } catch (IOException ended) {
            return false;
        }
        long question = ++asked;
        return await(() -> answered >= question, PATIENCE_NANOS);
    }

    private boolean await(BooleanSupplier condition, long patienceNanos) {
        long startedAtNanos = System.nanoTime();
        while (!condition.getAsBoolean()) {
            long leftNanos = patienceNanos - (System.nanoTime() - startedAtNanos);
            if (gone || leftNanos <= 0) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, leftNanos);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }

    /** Ends it. */
    @Override
    public void close() {
        process.destroyForcibly();
    }
}
