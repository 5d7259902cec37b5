package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.PassingRuntime;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When the watch tries to listen; the tests at a real server show that notifications arrive. */
@Tag("quick")
@Timeout(60)
class NotificationWatchTest {

    private static final LockName NAME = LockName.exactly("x");
    private static final OwnerToken OWNER = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");

    private final SystemLockRuntime real = new SystemLockRuntime();
    private final Ahead runtime = new Ahead(real);
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
    private final AtomicInteger ending = new AtomicInteger();
    private final BlockingQueue<LockName> woken = new LinkedBlockingQueue<>();

    @AfterEach
    void end() {
        real.close();
    }

    private NotificationWatch watch(Dialect.Driver driver, StoreSettings.Spare source) {
        return new NotificationWatch(
                runtime, driver, source, this::sent, new NotificationWatch.Listener(woken::add, word -> {}), "here");
    }

    private CompletableFuture<Boolean> sent(String echo) {
        told.add(echo);
        return CompletableFuture.completedFuture(true);
    }

    /** The system failed once to start a thread: waiters poll, and are notified again later. */
    @Test
    void aThreadThatCouldNotStartIsTriedAgain() throws Exception {
        runtime.failures.set(1);
        CompletableFuture<Void> listens = new CompletableFuture<>();
        NotificationWatch watch = watch(new Told(), () -> {
            listens.complete(null);
            throw new SQLException("nobody there");
        });
        assertThat(watch.isReady()).isFalse();
        assertThat(watch.isReady()).isFalse();
        assertThat(runtime.threads).as("not at once").hasValue(1);
        runtime.goOn(Duration.ofSeconds(10));
        assertThat(watch.isReady()).isFalse();
        listens.get(30, TimeUnit.SECONDS);
        watch.close();
    }

    /** After a long time without waiters the connection is being returned, which takes a while; then a waiter comes. */
    @Test
    void anEarlierRunDoesNotEndALaterOne() throws Exception {
        Told driver = new Told();
        NotificationWatch watch = watch(driver, () -> DriverManager.getConnection("jdbc:h2:mem:"));
        awaitReady(watch);
        runtime.goOn(Duration.ofMinutes(1));
        driver.ending.get(30, TimeUnit.SECONDS);
        awaitReady(watch);
        driver.mayEnd.complete(null);
        assertThat(driver.ended.get(30, TimeUnit.SECONDS)).isTrue();
        for (int i = 0; i < 100; i++) {
            assertThat(watch.isReady()).as("goes on listening").isTrue();
            Thread.sleep(1);
        }
        assertThat(runtime.threads).hasValue(2);
        watch.close();
    }

    /** However often no connection is available, each retry comes after a rest, and not before. */
    @Test
    void listeningGoesOnHoweverOftenItFails() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        NotificationWatch watch = watch(new Told(), () -> {
            if (tries.incrementAndGet() <= 4) {
                throw new SQLException("nobody there");
            }
            return DriverManager.getConnection("jdbc:h2:mem:");
        });
        for (int i = 1; i <= 4; i++) {
            assertThat(watch.isReady()).isFalse();
            awaitThreads(i);
            runtime.goOn(Duration.ofSeconds(4));
            assertThat(watch.isReady()).isFalse();
            assertThat(runtime.threads).as("while it rests").hasValue(i);
            runtime.goOn(Duration.ofSeconds(2));
        }
        awaitReady(watch);
        watch.close();
    }

    /** If notifications arrived before, another try at once is worthwhile; waiters that relied on them are woken. */
    @Test
    void whenWhatWasHeardEndsWaitersAreWokenAndItIsListenedToAtOnce() throws Exception {
        Told driver = new Told();
        NotificationWatch watch = watch(driver, () -> DriverManager.getConnection("jdbc:h2:mem:"));
        for (int i = 1; i <= 3; i++) {
            awaitReady(watch);
            watch.add(OWNER, List.of(NAME), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
            driver.broken.set(true);
            assertThat(woken.poll(30, TimeUnit.SECONDS)).isEqualTo(NAME);
            driver.broken.set(false);
            watch.forget(OWNER);
            assertThat(runtime.threads).hasValue(i);
            assertThat(watch.isReady()).isFalse();
            assertThat(runtime.threads).as("listens again without a rest").hasValue(i + 1);
        }
        watch.close();
    }

    @Test
    void aNotificationWakesReadersAndWritersOfTheLock() throws Exception {
        NotificationWatch watch = watch(new Told(), () -> DriverManager.getConnection("jdbc:h2:mem:"));
        awaitReady(watch);
        OwnerToken reader = OwnerToken.draw(runtime);
        watch.add(OWNER, List.of(NAME), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
        watch.add(reader, List.of(NAME.asRead()), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
        told.add(NAME.text());
        assertThat(woken.poll(30, TimeUnit.SECONDS)).isEqualTo(NAME);
        assertThat(woken.poll(30, TimeUnit.SECONDS)).isEqualTo(NAME.asRead());
        watch.close();
    }

    @Test
    void aNameIsAwaitedUntilTheLastOfItsWaitersHasLeft() throws Exception {
        NotificationWatch watch = watch(new Told(), () -> DriverManager.getConnection("jdbc:h2:mem:"));
        awaitReady(watch);
        OwnerToken other = OwnerToken.draw(runtime);
        watch.add(OWNER, List.of(NAME), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
        watch.add(other, List.of(NAME), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
        watch.add(other, List.of(NAME), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
        watch.forget(OWNER);
        told.add(NAME.text());
        assertThat(woken.poll(30, TimeUnit.SECONDS)).isEqualTo(NAME);
        watch.forget(other);
        told.add(NAME.text());
        told.add("the end");
        watch.add(other, List.of(LockName.exactly("the end")), Long.MAX_VALUE / 4, Long.MAX_VALUE / 4);
        told.add("the end");
        assertThat(woken.poll(30, TimeUnit.SECONDS)).isEqualTo(LockName.exactly("the end"));
        watch.close();
    }

    /** A lock that is kept for another waiter becomes free without a notification. */
    @Test
    void whatEndsByItselfIsLookedAtUnlessTheWaiterAsksBefore() throws Exception {
        NotificationWatch watch = watch(new Told(), () -> DriverManager.getConnection("jdbc:h2:mem:"));
        watch.add(OWNER, List.of(NAME), 1_000_000L, 2_000_000L);
        assertThat(woken.poll(50, TimeUnit.MILLISECONDS)).isNull();
        watch.add(OWNER, List.of(NAME), Long.MAX_VALUE / 4, 2_000_000L);
        assertThat(woken.poll(30, TimeUnit.SECONDS)).isEqualTo(NAME);
        watch.close();
    }

    private void awaitThreads(int started) throws InterruptedException {
        while (runtime.threads.get() < started || ending.get() < started) {
            Thread.sleep(1);
        }
    }

    private static void awaitReady(NotificationWatch watch) throws InterruptedException {
        while (!watch.isReady()) {
            Thread.sleep(1);
        }
    }

    /** A driver that delivers the notifications sent, and takes a while to end the first time. */
    private final class Told implements Dialect.Driver {
        private final CompletableFuture<Void> ending = new CompletableFuture<>();
        private final CompletableFuture<Void> mayEnd = new CompletableFuture<>();
        private final CompletableFuture<Boolean> ended = new CompletableFuture<>();
        private final AtomicBoolean broken = new AtomicBoolean();

        @Override
        public boolean canListen(Connection connection) {
            return true;
        }

        @Override
        public void listen(Connection connection) {}

        @Override
        public List<String> next(Connection connection, int millis) throws SQLException {
            if (broken.get()) {
                throw new SQLException("the connection is broken", "08006");
            }
            try {
                String next = told.poll(1, TimeUnit.MILLISECONDS);
                return next == null ? List.of() : List.of(next);
            } catch (InterruptedException e) {
                throw new SQLException(e);
            }
        }

        @Override
        public void ask(Connection connection) {}

        @Override
        public void unlisten(Connection connection) {
            if (ending.complete(null)) {
                mayEnd.join();
                ended.complete(true);
            }
        }
    }

    /** A clock that a test advances, and a system that may fail to start a thread. */
    private final class Ahead extends PassingRuntime {
        private final AtomicLong nanos = new AtomicLong();
        private final AtomicInteger threads = new AtomicInteger();
        private final AtomicInteger failures = new AtomicInteger();

        Ahead(LockRuntime real) {
            super(real);
        }

        void goOn(Duration by) {
            nanos.addAndGet(by.toNanos());
        }

        @Override
        public long nanoTime() {
            return super.nanoTime() + nanos.get();
        }

        @Override
        public void startThread(String name, Runnable task) {
            threads.incrementAndGet();
            if (failures.getAndDecrement() > 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            super.startThread(name, () -> {
                task.run();
                ending.incrementAndGet();
            });
        }
    }
}
