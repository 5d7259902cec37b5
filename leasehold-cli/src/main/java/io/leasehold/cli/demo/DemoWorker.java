package io.leasehold.cli.demo;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.cli.demo.HistoryEvent.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One of the processes that fight for the lock: it waits, enters, reads a counter from a file, thinks, writes the counter
 * back by one larger, leaves, and begins again, until its standard input ends. Whatever it does it writes down first-hand.
 */
public final class DemoWorker {

    /** Of the leases, so that the takeover after a kill can be watched. */
    static final Duration TTL = Duration.ofSeconds(2);

    private static final String LOCK = "demo:counter";
    private static final long THINKING_MILLIS = 350;
    private static final long MOST_PAUSE_MILLIS = 60;

    private final int number;
    private final HistoryFile history;
    private final Path counter;
    private volatile boolean told;

    /** A worker of the demonstration whose files are in this directory. */
    public DemoWorker(int number, Path directory) {
        this.number = number;
        this.history = new HistoryFile(directory.resolve(FirstDemo.HISTORY));
        this.counter = directory.resolve(FirstDemo.COUNTER);
    }

    /**
     * Works until standard input ends.
     *
     * @param store where the lock is, or null to do without
     */
    public void work(@Nullable String store) throws IOException, InterruptedException {
        Thread listener = new Thread(this::listen, "demo-stdin");
        listener.setDaemon(true);
        listener.start();
        if (store == null) {
            while (!told) {
                section(0);
            }
            return;
        }
        try (LockClient locks = Leasehold.builder()
                .store(store)
                .defaults(LockOptions.defaults().ttl(TTL))
                .label("worker-" + number)
                .connect()) {
            while (!told) {
                write(Kind.WAITS, 0, 0);
                try (Lease lease = locks.named(LOCK).acquire()) {
                    section(lease.fencingToken());
                }
            }
        }
    }

    private void section(long token) throws IOException, InterruptedException {
        long value = Files.exists(counter)
                ? Long.parseLong(Files.readString(counter, StandardCharsets.US_ASCII).strip())
                : 0;
        write(Kind.ENTERS, token, value);
        TimeUnit.MILLISECONDS.sleep(THINKING_MILLIS);
        Path next = counter.resolveSibling("counter-" + number);
        Files.writeString(next, (value + 1) + "\n", StandardCharsets.US_ASCII);
        Files.move(next, counter, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        write(Kind.LEAVES, token, value + 1);
        if (token == 0) {
            TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextLong(MOST_PAUSE_MILLIS));
        }
    }

    private void write(Kind kind, long token, long value) throws IOException {
        history.append(new HistoryEvent(System.nanoTime(), number, kind, token, value));
    }

    /** The end of standard input means: finish; so does the end of whoever started us. */
    private void listen() {
        try {
            while (System.in.read() >= 0) {
                // Nothing is ever sent.
            }
        } catch (IOException gone) {
            // As good as the end.
        }
        told = true;
        try {
            TimeUnit.SECONDS.sleep(5);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Runtime.getRuntime().halt(0);
    }
}
