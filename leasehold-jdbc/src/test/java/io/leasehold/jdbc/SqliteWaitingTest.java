package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Waiting at an SQLite store: wake-ups and turns. */
@Tag("full")
class SqliteWaitingTest {

    private static final long RECHECK_NANOS = Duration.ofSeconds(60).toNanos();

    @TempDir
    private Path directory;

    /** Collects the signals of a store. */
    private static final class Ear implements StoreSignals {
        private final BlockingQueue<LockName> woken = new LinkedBlockingQueue<>();
        private final BlockingQueue<LossCause> lost = new LinkedBlockingQueue<>();

        @Override
        public void wake(LockName name) {
            woken.add(name);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            lost.add(cause);
        }

        @Override
        public void reconnected() {}

        void awaitWake() throws InterruptedException {
            assertThat(woken.poll(30, TimeUnit.SECONDS)).isNotNull();
        }
    }

    private LeaseClient open() {
        return LeaseClient.open(runtime -> SqliteStore.open(directory.resolve("locks.db"), runtime));
    }

    private static AcquireRequest waiting(String name, OwnerToken owner) {
        return LeaseClient.request(name, owner).waiting(RECHECK_NANOS);
    }

    private static Ear listen(LeaseClient client) {
        Ear ear = new Ear();
        client.store.listen(ear);
        return ear;
    }

    @Test
    void aReleaseElsewhereWakesTheWaiter() throws InterruptedException {
        try (LeaseClient holder = open();
                LeaseClient waiter = open()) {
            Ear ear = listen(waiter);
            OwnerToken held = holder.owner();
            holder.granted("x", held);
            OwnerToken owner = waiter.owner();
            assertThat(waiter.acquire(waiting("x", owner))).isInstanceOf(AcquireReply.Queued.class);
            holder.release("x", held);
            ear.awaitWake();
            assertThat(waiter.acquire(waiting("x", owner))).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    @Test
    void theEndOfALeaseWakesTheWaiter() throws InterruptedException {
        try (LeaseClient holder = open();
                LeaseClient waiter = open()) {
            Ear ear = listen(waiter);
            assertThat(holder.acquire(AcquireRequest.exclusive(
                            List.of(LockName.exactly("x")),
                            holder.owner(),
                            "test",
                            Duration.ofMillis(300).toNanos(),
                            LeaseClient.LIMIT.toNanos())))
                    .isInstanceOf(AcquireReply.Granted.class);
            OwnerToken owner = waiter.owner();
            waiter.acquire(waiting("x", owner));
            AcquireReply reply;
            do {
                ear.awaitWake();
                reply = waiter.acquire(waiting("x", owner));
            } while (!(reply instanceof AcquireReply.Granted));
        }
    }

    @Test
    void aLockReleasedByTheSameClientWakesItsOwnWaiter() throws InterruptedException {
        try (LeaseClient client = open()) {
            Ear ear = listen(client);
            OwnerToken held = client.owner();
            client.granted("x", held);
            client.acquire(waiting("x", client.owner()));
            client.release("x", held);
            ear.awaitWake();
        }
    }

    @Test
    void aForcedReleaseIsToldToTheHolderAndTheWaiter() throws InterruptedException {
        try (LeaseClient client = open()) {
            Ear ear = listen(client);
            client.granted("x", client.owner());
            client.acquire(waiting("x", client.owner()));
            assertThat(client.store
                            .admin()
                            .forceRelease(LockName.exactly("x"), "somebody else")
                            .join())
                    .isFalse();
            assertThat(client.store
                            .admin()
                            .forceRelease(LockName.exactly("x"), "test")
                            .join())
                    .isTrue();
            assertThat(ear.lost.poll(30, TimeUnit.SECONDS)).isEqualTo(LossCause.FORCE_RELEASED);
            ear.awaitWake();
        }
    }

    @Test
    void aWaiterHasItsTurnBeforeTheHolderThatComesBack() throws InterruptedException {
        try (LeaseClient holder = open();
                LeaseClient waiter = open()) {
            Ear ear = listen(waiter);
            OwnerToken held = holder.owner();
            holder.granted("x", held);
            OwnerToken owner = waiter.owner();
            waiter.acquire(waiting("x", owner));
            // The holder acquires again at once, repeatedly; the waiter retries only when it is woken.
            CompletableFuture<Void> done = new CompletableFuture<>();
            Thread greedy = new Thread(
                    () -> {
                        OwnerToken mine = held;
                        while (!done.isDone()) {
                            holder.release("x", mine);
                            mine = holder.owner();
                            AcquireReply reply;
                            do {
                                reply = holder.acquire("x", mine);
                            } while (!(reply instanceof AcquireReply.Granted) && !done.isDone());
                        }
                    },
                    "greedy");
            greedy.start();
            try {
                AcquireReply reply;
                do {
                    ear.awaitWake();
                    reply = waiter.acquire(waiting("x", owner));
                } while (!(reply instanceof AcquireReply.Granted));
            } finally {
                done.complete(null);
                greedy.join();
            }
        }
    }

    @Test
    void aWithdrawnWaiterIsForgotten() {
        try (LeaseClient client = open()) {
            OwnerToken held = client.owner();
            client.granted("x", held);
            OwnerToken waiter = client.owner();
            client.acquire(waiting("x", waiter));
            assertThat(client.release("x", waiter)).isInstanceOf(ReleaseReply.NotOurs.class);
            client.release("x", held);
            client.granted("x", client.owner());
        }
    }

    /** The file is missing for a moment, and the waiter's connection was just lost. */
    @Test
    void aFileThatCannotBeOpenedOnceCostsTheWaiterNothing() throws Exception {
        try (LeaseClient holder = open();
                LeaseClient waiter = open()) {
            Ear ear = listen(waiter);
            OwnerToken held = holder.owner();
            holder.granted("x", held);
            OwnerToken owner = waiter.owner();
            assertThat(waiter.acquire(waiting("x", owner))).isInstanceOf(AcquireReply.Queued.class);
            Path file = directory.resolve("locks.db");
            Path aside = Files.move(file, directory.resolve("aside"));
            Files.createDirectory(file);
            assertThat(waiter.acquire("y", waiter.owner()))
                    .as("its connection leads elsewhere, and another cannot be opened")
                    .isInstanceOf(AcquireReply.Failed.class);
            // Time for a poll to fail; if it were too short, the test would pass without testing anything.
            LockSupport.parkNanos(500_000_000);
            Files.delete(file);
            Files.move(aside, file);
            assertThat(holder.release("x", held)).isInstanceOf(ReleaseReply.Released.class);
            ear.awaitWake();
            assertThat(waiter.acquire(waiting("x", owner))).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** Any reading of it, including those of the worker between two tasks. */
    @Test
    void aClockThatCannotBeReadOnceCostsTheWaiterNothing() throws Exception {
        for (int reading = 0; reading < 6; reading++) {
            UnreadableClock clock = new UnreadableClock(reading);
            String name = "x" + reading;
            try (LeaseClient holder = open();
                    LeaseClient waiter = LeaseClient.open(
                            clock.runtime(), runtime -> SqliteStore.open(directory.resolve("locks.db"), runtime))) {
                Ear ear = listen(waiter);
                OwnerToken held = holder.owner();
                holder.granted(name, held);
                assertThat(waiter.acquire(waiting(name, waiter.owner()))).isInstanceOf(AcquireReply.Queued.class);
                clock.fails();
                holder.release(name, held);
                ear.awaitWake();
            }
        }
    }

    /** Fails once, on the thread that uses the database. */
    private static final class UnreadableClock {
        private final LockRuntime real = new SystemLockRuntime();
        private final CountDownLatch failed = new CountDownLatch(1);
        private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);
        private final int reading;

        UnreadableClock(int reading) {
            this.reading = reading;
        }

        void fails() throws InterruptedException {
            left.set(reading);
            assertThat(failed.await(30, TimeUnit.SECONDS)).isTrue();
        }

        LockRuntime runtime() {
            return (LockRuntime) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                        if (method.getName().equals("nanoTime")
                                && Thread.currentThread().getName().equals("leasehold-jdbc")
                                && left.getAndDecrement() == 0) {
                            failed.countDown();
                            throw new InternalError("made by the test");
                        }
                        return method.invoke(real, arguments);
                    });
        }
    }

    /** Counts timers. */
    private static final class Counting {
        private final AtomicInteger timers = new AtomicInteger();
        private final LockRuntime runtime = new CountingRuntime(new SystemLockRuntime(), timers);
    }

    @Test
    void nothingRunsWhileNobodyWaits() throws InterruptedException {
        Counting counting = new Counting();
        try (LeaseClient holder = open();
                LeaseClient client = LeaseClient.open(
                        counting.runtime, runtime -> SqliteStore.open(directory.resolve("locks.db"), runtime))) {
            holder.granted("x", holder.owner());
            OwnerToken waiter = client.owner();
            client.acquire(waiting("x", waiter));
            int before = counting.timers.get();
            long startAtNanos = System.nanoTime();
            while (counting.timers.get() - before < 3) {
                assertThat(System.nanoTime() - startAtNanos).isLessThan(RECHECK_NANOS);
                Thread.onSpinWait();
            }
            client.release("x", waiter);
            // One poll may have been in progress; after it there is no other.
            client.store.admin().describe(LockName.exactly("x")).join();
            CompletableFuture<Void> later = new CompletableFuture<>();
            counting.runtime.schedule(200_000_000, () -> later.complete(null));
            int after = counting.timers.get();
            later.join();
            assertThat(counting.timers.get() - after).isLessThanOrEqualTo(1);
        }
    }
}
