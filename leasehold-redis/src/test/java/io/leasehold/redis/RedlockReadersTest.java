package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.Acquirable;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import io.leasehold.redis.wire.KeyLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of readers and writers over three real servers: neither kind starves the other, those that wait are woken, and a
 * holder is repaired although others wait. A waiter that is not woken retries only after nine seconds.
 */
@Timeout(180)
@Tag("full")
final class RedlockReadersTest {

    private static final LockName NAME = LockName.of("turn");
    private static final Duration RECHECK = Duration.ofSeconds(9);
    private static final int TURNS = 10;

    private final String lock = KeyLayout.standard().lock(NAME);
    private final List<LockClient> clients = new ArrayList<>();
    private RedlockServers servers;

    @BeforeEach
    void start() throws InterruptedException {
        servers = RedlockServers.start(3, "30s");
        servers.declareNew();
        // A script that a server does not know yet is sent a second time, after the requests of the meantime.
        SharedLock first = of(client(), "scripts");
        first.write().acquire().downgrade().close();
        first.read().acquire().close();
    }

    @AfterEach
    void stop() {
        clients.forEach(LockClient::close);
        servers.close();
    }

    private LockClient client() {
        LockClient client = Leasehold.builder().store(servers.uri()).connect();
        clients.add(client);
        return client;
    }

    private static SharedLock of(LockClient client, String name) {
        return client.readWrite(name)
                .with(options -> options.ttl(Duration.ofSeconds(30)).recheck(RECHECK));
    }

    private SharedLock shared() {
        return of(client(), NAME.text());
    }

    // ---- neither kind starves the other

    /** Takes turns until the others have had theirs. */
    private static Thread inTurn(
            Acquirable<? extends Lease> lock, AtomicInteger left, ConcurrentLinkedQueue<Throwable> failures) {
        Thread thread = new Thread(() -> {
            try {
                while (left.get() > 0) {
                    try (Lease lease = lock.acquire()) {
                        TimeUnit.MILLISECONDS.sleep(20);
                        assertThat(lease.isValid()).isTrue();
                    }
                }
            } catch (InterruptedException | RuntimeException | AssertionError e) {
                failures.add(e);
            }
        });
        thread.start();
        return thread;
    }

    private static void takesItsTurns(Acquirable<? extends Lease> one, List<Acquirable<? extends Lease>> others)
            throws InterruptedException {
        AtomicInteger left = new AtomicInteger(TURNS);
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        others.forEach(other -> threads.add(inTurn(other, left, failures)));
        try {
            while (left.get() > 0) {
                try (Lease lease = one.tryAcquire(Duration.ofSeconds(60))) {
                    assertThat(lease)
                            .as("turn %d of %d", TURNS - left.get() + 1, TURNS)
                            .isNotNull();
                    left.decrementAndGet();
                }
            }
        } finally {
            left.set(0);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        assertThat(failures).isEmpty();
    }

    /** Four readers whose holds overlap, so that the lock is never free on its own. */
    @Test
    void aWriterGetsItsTurnsAmongReaders() throws InterruptedException {
        List<Acquirable<? extends Lease>> readers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            readers.add(shared().read());
        }
        takesItsTurns(shared().write(), readers);
    }

    @Test
    void aReaderGetsItsTurnsAmongWriters() throws InterruptedException {
        List<Acquirable<? extends Lease>> writers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            writers.add(shared().write());
        }
        takesItsTurns(shared().read(), writers);
    }

    // ---- those that wait are woken

    /** At two of the three members, the third may get its request before its subscription is live. */
    private void awaitWaiter(String set) throws InterruptedException {
        for (int i = 0; i < 1_000 && membersWith(set) < 2; i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(membersWith(set)).isGreaterThanOrEqualTo(2);
    }

    private long membersWith(String set) {
        return IntStream.range(0, servers.size())
                .filter(node -> servers.server(node).call("EXISTS", set).equals("1"))
                .count();
    }

    private static <L> L soon(CompletableFuture<L> lease) throws Exception {
        return lease.get(RECHECK.toMillis() / 2, TimeUnit.MILLISECONDS);
    }

    @Test
    void theLastReaderWakesTheWriterAndTheWriterTheReaders() throws Exception {
        Lease reader = shared().read().acquire();
        CompletableFuture<WriteLease> writer = shared().write().acquireAsync();
        awaitWaiter(KeyLayout.watchers(lock));
        reader.close();
        WriteLease written = soon(writer);
        CompletableFuture<Lease> one = shared().read().acquireAsync();
        CompletableFuture<Lease> other = shared().read().acquireAsync();
        awaitWaiter(KeyLayout.readWatchers(lock));
        written.close();
        assertThat(soon(one).isValid() && soon(other).isValid()).isTrue();
    }

    @Test
    void aDowngradeLetsInTheReadersThatWaitAndNoWriter() throws Exception {
        WriteLease writer = shared().write().acquire();
        CompletableFuture<Lease> waiting = shared().read().acquireAsync();
        awaitWaiter(KeyLayout.readWatchers(lock));
        CompletableFuture<WriteLease> next = shared().write().acquireAsync();
        awaitWaiter(KeyLayout.watchers(lock));
        Lease reader = writer.downgrade();
        Lease second = soon(waiting);
        assertThat(next.isDone()).isFalse();
        assertThat(second.isValid() && reader.isValid()).isTrue();
        reader.close();
        assertThat(next.isDone()).isFalse();
        second.close();
        soon(next).close();
    }

    /** The reader has asked while the writer waited before it. */
    @Test
    void aWriterThatGivesUpLetsInTheReadersBehindIt() throws Exception {
        Lease holds = shared().read().acquire();
        CompletableFuture<WriteLease> writer = shared().write().acquireAsync();
        awaitWaiter(KeyLayout.watchers(lock));
        assertThat(shared().read().tryAcquire(Duration.ZERO))
                .as("a writer waits")
                .isNull();
        CompletableFuture<Lease> behind = shared().read().acquireAsync();
        awaitWaiter(KeyLayout.readWatchers(lock));
        assertThat(behind.isDone()).isFalse();
        writer.cancel(false);
        assertThat(soon(behind).isValid() && holds.isValid()).isTrue();
    }

    /** Both attempts are of the client that releases. */
    @Test
    void aClientWakesItsOwnWaiterOfTheOtherKind() throws Exception {
        SharedLock ours = shared();
        WriteLease writer = ours.write().acquire();
        CompletableFuture<Lease> reads = ours.read().acquireAsync();
        awaitWaiter(KeyLayout.readWatchers(lock));
        writer.close();
        Lease reader = soon(reads);
        CompletableFuture<WriteLease> writes = ours.write().acquireAsync();
        awaitWaiter(KeyLayout.watchers(lock));
        reader.close();
        soon(writes).close();
    }

    // ---- a holder is repaired

    /** The node has lost its keys, and a writer that waits would keep out a caller that comes later. */
    @Test
    void aReaderIsRepairedAtANodeThatLostIt() throws Exception {
        Lease reader = shared().read().acquire();
        CompletableFuture<WriteLease> writer = shared().write().acquireAsync();
        awaitWaiter(KeyLayout.watchers(lock));
        servers.server(0).call("DEL", lock, KeyLayout.readers(lock));
        reader.renew();
        NodeBench.until(
                "it is repaired", () -> servers.server(0).call("EXISTS", lock).equals("1"));
        assertThat(servers.server(0).call("HLEN", KeyLayout.readers(lock))).isEqualTo("2");
        assertThat(writer.isDone()).isFalse();
        reader.close();
        soon(writer).close();
    }

    /** A node that did not receive the downgrade has neither, and the next renewal makes a reader there. */
    @Test
    void aDowngradeWithoutOneNodeIsRepairedThere() throws Exception {
        WriteLease writer = shared().write().acquire();
        servers.server(2).call("DEL", lock);
        Lease reader = writer.downgrade();
        assertThat(servers.server(2).call("EXISTS", lock)).isEqualTo("0");
        reader.renew();
        NodeBench.until(
                "it is repaired", () -> servers.server(2).call("EXISTS", lock).equals("1"));
        reader.close();
        try (Lease next = shared().write().tryAcquire(Duration.ofSeconds(60))) {
            assertThat(next).isNotNull();
        }
    }

    @Test
    void aDowngradeOfALostWriterIsALoss() throws Exception {
        WriteLease writer = shared().write().acquire();
        servers.server(0).call("DEL", lock);
        servers.server(1).call("DEL", lock);
        assertThat(catchThrowable(writer::downgrade)).isInstanceOf(LeaseLostException.class);
        NodeBench.until("nothing is left", () -> membersWith(lock) == 0);
        try (Lease next = shared().write().tryAcquire(Duration.ofSeconds(60))) {
            assertThat(next).isNotNull();
        }
    }
}
