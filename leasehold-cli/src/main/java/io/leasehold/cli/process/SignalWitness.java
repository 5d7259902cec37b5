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
import org.jspecify.annotations.Nullable;

/**
 * Tells a signal that was sent to our whole process group, and so has reached the command already, from one that was sent
 * to this process alone and has to be passed on.
 *
 * <p>The JDK does not say who sent a signal. A shell in the same group that catches the same signals does: what reached
 * it, too, went to the group. Without the witness Ctrl-C would interrupt the command twice, and many programs take the
 * second for "at once". Used where the command shares our group, which is where there is a terminal.
 */
final class SignalWitness implements AutoCloseable {

    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MEMORY_NANOS = TimeUnit.SECONDS.toNanos(3);

    private final Process process;
    private final Map<ForwardedSignal, Deque<Long>> seenAtNanos = new EnumMap<>(ForwardedSignal.class);
    private boolean ready;

    private SignalWitness(Process process) {
        this.process = process;
    }

    /** Starts it in our group. */
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
                saw(line);
            }
        } catch (IOException gone) {
            // Then every signal is passed on.
        }
    }

    private synchronized void saw(String line) {
        if (line.equals("READY")) {
            ready = true;
        } else {
            seen(ForwardedSignal.valueOf(line)).addLast(System.nanoTime());
        }
        notifyAll();
    }

    private Deque<Long> seen(ForwardedSignal signal) {
        return seenAtNanos.computeIfAbsent(signal, any -> new ArrayDeque<>());
    }

    /** Whether this signal, which has just reached us, went to the whole group; waits a moment for the answer. */
    synchronized boolean wentToGroup(ForwardedSignal signal) {
        Deque<Long> seen = seen(signal);
        long startedAtNanos = System.nanoTime();
        while (true) {
            while (!seen.isEmpty() && System.nanoTime() - seen.getFirst() > MEMORY_NANOS) {
                seen.removeFirst();
            }
            if (seen.pollFirst() != null) {
                return true;
            }
            long leftNanos = PATIENCE_NANOS - (System.nanoTime() - startedAtNanos);
            if (!ready || leftNanos <= 0 || !process.isAlive()) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, leftNanos);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
    }

    /** Ends it. */
    @Override
    public void close() {
        process.destroyForcibly();
    }
}
