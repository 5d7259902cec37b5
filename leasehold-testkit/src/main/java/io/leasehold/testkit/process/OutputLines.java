package io.leasehold.testkit.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * The lines that one stream of a process has brought so far, read by a daemon thread so that the process never blocks.
 *
 * <p>Safe for use by any thread; the cursor of {@link #await} is one for all of them.
 */
final class OutputLines {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final List<String> lines = new ArrayList<>();
    private int cursor;
    private boolean ended;

    /** Reads the stream to its end in a thread of the given name. */
    static OutputLines of(BufferedReader stream, String threadName) {
        OutputLines output = new OutputLines();
        Thread reader = new Thread(() -> output.readAll(stream), threadName);
        reader.setDaemon(true);
        reader.start();
        return output;
    }

    /** The first line after the last one found here that matches; empty when time or the stream comes to its end first. */
    Optional<String> await(Predicate<String> wanted, long patienceNanos) throws InterruptedException {
        long leftNanos = patienceNanos;
        lock.lockInterruptibly();
        try {
            int next = cursor;
            while (true) {
                for (; next < lines.size(); next++) {
                    if (wanted.test(lines.get(next))) {
                        cursor = next + 1;
                        return Optional.of(lines.get(next));
                    }
                }
                if (ended || leftNanos <= 0) {
                    return Optional.empty();
                }
                leftNanos = changed.awaitNanos(leftNanos);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the stream has ended, so that {@link #all()} is complete. */
    void awaitEnd(long patience, TimeUnit unit) throws InterruptedException {
        long leftNanos = unit.toNanos(patience);
        lock.lockInterruptibly();
        try {
            while (!ended && leftNanos > 0) {
                leftNanos = changed.awaitNanos(leftNanos);
            }
        } finally {
            lock.unlock();
        }
    }

    boolean hasEnded() {
        lock.lock();
        try {
            return ended;
        } finally {
            lock.unlock();
        }
    }

    List<String> all() {
        lock.lock();
        try {
            return List.copyOf(lines);
        } finally {
            lock.unlock();
        }
    }

    String tail(int count) {
        List<String> all = all();
        return String.join("\n", all.subList(Math.max(0, all.size() - count), all.size()));
    }

    private void readAll(BufferedReader stream) {
        try (stream) {
            for (String line = stream.readLine(); line != null; line = stream.readLine()) {
                add(line);
            }
        } catch (IOException closedWithTheProcess) {
            // Its end is the end of what can be read.
        } finally {
            end();
        }
    }

    private void add(String line) {
        lock.lock();
        try {
            lines.add(line);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        lock.lock();
        try {
            ended = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
