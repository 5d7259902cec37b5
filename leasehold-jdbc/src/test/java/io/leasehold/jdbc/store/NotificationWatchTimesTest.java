package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The times for listening, resting and waiting, in virtual time. */
@Tag("quick")
@Timeout(60)
class NotificationWatchTimesTest {

    private static final LockName NAME = LockName.exactly("x");
    private static final OwnerToken ANN = OwnerToken.fromHex("a".repeat(40));
    private static final OwnerToken BOB = OwnerToken.fromHex("b".repeat(40));
    private static final long LONG = Duration.ofDays(1).toNanos();

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final Told driver = new Told();
    private final List<String> echoes = new ArrayList<>();
    private final List<LockName> woken = new ArrayList<>();
    private final List<String> words = new ArrayList<>();
    private final List<String> calls = new ArrayList<>();
    private int opened;
    private boolean opensSlowly;
    private boolean refusesAbort;
    private boolean echoesArrive;
    private CompletableFuture<Boolean> sending = CompletableFuture.completedFuture(true);
    private final NotificationWatch watch = new NotificationWatch(
            runtime, driver, this::open, this::echo, new NotificationWatch.Listener(woken::add, words::add), "here");

    @AfterEach
    void close() {
        driver.broken = true;
        watch.close();
        goOn(10);
    }

    private Connection open() {
        opened++;
        if (opensSlowly) {
            pause(1_000);
        }
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    return switch (method.getName()) {
                        case "getAutoCommit" -> true;
                        case "isReadOnly" -> false;
                        case "getNetworkTimeout" -> 0;
                        case "setNetworkTimeout" -> noted("bound " + arguments[1]);
                        case "abort" -> aborted();
                        case "close" -> noted(method.getName());
                        default -> throw new AssertionError(method);
                    };
                });
    }

    private CompletableFuture<Boolean> echo(String payload) {
        echoes.add(payload);
        if (echoesArrive) {
            driver.told.add(payload);
        }
        return sending;
    }

    private @Nullable Object aborted() {
        if (refusesAbort) {
            throw new UnsupportedOperationException("made by the test");
        }
        return noted("abort");
    }

    private @Nullable Object noted(String call) {
        calls.add(call);
        return null;
    }

    private void pause(int millis) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        runtime.schedule(millis * 1_000_000L, () -> over.complete(null));
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private final class Told implements Dialect.Driver {
        private final List<String> told = new ArrayList<>();
        private boolean cannot;
        private boolean broken;
        private boolean unexpected;

        @Override
        public boolean canListen(Connection connection) {
            return !cannot;
        }

        @Override
        public void listen(Connection connection) {
            calls.add("listen");
        }

        @Override
        public List<String> next(Connection connection, int millis) throws SQLException {
            pause(millis);
            if (broken) {
                throw new SQLException("the connection is broken", "08006");
            } else if (unexpected) {
                throw new IllegalStateException("made by the test");
            }
            List<String> now = List.copyOf(told);
            told.clear();
            return now;
        }

        @Override
        public void ask(Connection connection) {
            calls.add("ask");
        }

        @Override
        public void unlisten(Connection connection) {
            calls.add("unlisten");
        }
    }

    private void goOn(long seconds) {
        runtime.runFor(Duration.ofSeconds(seconds));
    }

    private void becomeLive() {
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        driver.told.add(echoes.get(echoes.size() - 1));
        goOn(1);
        assertThat(watch.isReady()).isTrue();
        echoesArrive = true;
        calls.clear();
    }

    private void await(OwnerToken owner) {
        watch.add(owner, List.of(NAME), LONG, LONG);
    }

    @Test
    void itIsReadyOnlyAfterItsOwnNotificationHasComeBack() {
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        assertThat(calls).containsExactly("bound 2500", "listen");
        driver.told.add("\nanother echo");
        driver.told.add("x");
        goOn(1);
        assertThat(watch.isReady()).isFalse();
        driver.told.addAll(echoes);
        runtime.runFor(Duration.ofMillis(500));
        assertThat(watch.isReady()).isTrue();
        assertThat(echoes).hasSize(1).allMatch(echo -> echo.matches("\n[0-9a-f]{32}"));
        goOn(20);
        assertThat(watch.isReady()).as("and stays so").isTrue();
        assertThat(opened).isEqualTo(1);
    }

    /** With the echo of another client, the watch would count as ready although it receives nothing. */
    @Test
    void noTwoEchoesAreAlike() {
        watch.isReady();
        NotificationWatch second = new NotificationWatch(
                runtime,
                driver,
                this::open,
                this::echo,
                new NotificationWatch.Listener(woken::add, words::add),
                "here");
        second.isReady();
        goOn(1);
        assertThat(echoes).hasSize(2).doesNotHaveDuplicates();
        second.close();
    }

    @Test
    void whereNotificationsDoNotArriveItIsTriedAgainMuchLater() {
        assertThat(watch.isReady()).isFalse();
        goOn(2);
        assertThat(calls).as("it may still come").containsExactly("bound 2500", "listen");
        goOn(1);
        assertThat(calls).endsWith("unlisten", "bound 0", "close").doesNotContain("abort");
        goOn(118);
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        assertThat(opened).as("while it rests").isEqualTo(1);
        goOn(2);
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        assertThat(opened).as("later").isEqualTo(2);
    }

    /** The worker is busy, or the database is slow. */
    @Test
    void anEchoThatIsSentLateIsAwaitedFromThenOn() {
        sending = new CompletableFuture<>();
        assertThat(watch.isReady()).isFalse();
        goOn(3);
        assertThat(calls).as("it was not sent yet").doesNotContain("close");
        sending.complete(true);
        goOn(1);
        driver.told.addAll(echoes);
        goOn(1);
        assertThat(watch.isReady()).isTrue();
    }

    /** The worker may wait for this very connection: the pool has no other one. */
    @Test
    void whereAnEchoIsNotSentForLongTheConnectionIsReturned() {
        sending = new CompletableFuture<>();
        assertThat(watch.isReady()).isFalse();
        goOn(4);
        assertThat(calls).endsWith("unlisten", "bound 0", "close");
        assertThat(opened).isEqualTo(1);
        goOn(5);
        sending = CompletableFuture.completedFuture(true);
        becomeLive();
        assertThat(opened).isEqualTo(2);
    }

    @Test
    void anEchoThatCouldNotBeSentTellsNothingAboutNotificationsAndIsTriedAgainSoon() {
        sending = CompletableFuture.failedFuture(new IllegalStateException("the database was away"));
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        assertThat(calls).endsWith("unlisten", "bound 0", "close");
        goOn(5);
        sending = CompletableFuture.completedFuture(true);
        becomeLive();
        assertThat(opened).isEqualTo(2);
        sending = CompletableFuture.failedFuture(new IllegalStateException("the database was away"));
        echoesArrive = false;
        await(ANN);
        goOn(100);
        assertThat(watch.isReady()).as("what works is kept").isTrue();
    }

    /** After a planned switchover the former primary answers, but others notify at the new one. */
    @Test
    void aListenerAtAServerWhereNothingIsToldAnyMoreIsReplaced() {
        becomeLive();
        await(ANN);
        goOn(200);
        assertThat(echoes).as("about one a minute").hasSize(4);
        assertThat(opened).isEqualTo(1);
        echoesArrive = false;
        goOn(65);
        assertThat(woken).containsExactly(NAME);
        assertThat(calls)
                .as("a pool must not lend it again")
                .endsWith("abort", "close")
                .doesNotContain("unlisten");
        becomeLive();
        assertThat(opened).isEqualTo(2);
    }

    @Test
    void aDriverThatCannotListenIsAskedOnce() {
        driver.cannot = true;
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        assertThat(calls).containsExactly("bound 2500", "bound 0", "close");
        for (int i = 0; i < 3; i++) {
            runtime.runFor(Duration.ofDays(1));
            assertThat(watch.isReady()).isFalse();
        }
        goOn(1);
        assertThat(opened).isEqualTo(1);
        assertThat(echoes).isEmpty();
    }

    @Test
    void aConnectionThatSaysNothingIsAskedForASignOfLifeAgainAndAgain() {
        becomeLive();
        await(ANN);
        goOn(4);
        assertThat(calls).isEmpty();
        goOn(2);
        assertThat(calls).containsExactly("ask");
        goOn(3);
        assertThat(calls).containsExactly("ask");
        goOn(3);
        assertThat(calls).containsExactly("ask", "ask");
        calls.clear();
        for (int i = 0; i < 5; i++) {
            driver.told.add("whatever");
            goOn(3);
        }
        assertThat(calls).as("while it hears something").isEmpty();
    }

    @Test
    void theConnectionIsGivenBackWhenNobodyHasWaitedForLong() {
        becomeLive();
        await(ANN);
        goOn(100);
        assertThat(calls).as("while somebody waits").doesNotContain("close");
        assertThat(watch.isReady()).isTrue();
        watch.forget(ANN);
        goOn(29);
        assertThat(calls).as("not at once").doesNotContain("close");
        goOn(3);
        assertThat(calls).endsWith("unlisten", "bound 0", "close").doesNotContain("abort");
        assertThat(opened).isEqualTo(1);
        assertThat(watch.isReady()).isFalse();
        goOn(1);
        assertThat(opened).as("at once when somebody wants to wait").isEqualTo(2);
    }

    /** Its attempt ended while the database was unreachable, so no request reported the end. */
    @Test
    void aWaiterThatDoesNotAskAgainInTimeKeepsNoConnection() {
        becomeLive();
        for (int i = 0; i < 3; i++) {
            watch.add(ANN, List.of(NAME), Duration.ofSeconds(20).toNanos(), LONG);
            goOn(15);
        }
        driver.told.add("x");
        goOn(3);
        assertThat(woken).as("it has asked again each time").containsExactly(NAME);
        goOn(4);
        driver.told.add("x");
        goOn(1);
        assertThat(woken).as("it has not").containsExactly(NAME);
        goOn(10);
        assertThat(calls).endsWith("unlisten", "bound 0", "close").doesNotContain("abort");
    }

    @Test
    void whoWaitedOverAConnectionThatBrokeKeepsNotTheNextOne() {
        becomeLive();
        await(ANN);
        driver.broken = true;
        goOn(1);
        assertThat(woken).containsExactly(NAME);
        driver.broken = false;
        becomeLive();
        driver.told.add("x");
        goOn(1);
        assertThat(woken).as("it has not asked again").containsExactly(NAME);
        goOn(40);
        assertThat(calls).endsWith("unlisten", "bound 0", "close");
        assertThat(opened).isEqualTo(2);
    }

    /** Of two waiters for a name, the one that still retries is notified. */
    @Test
    void aWaiterThatIsSilentTakesNoOtherWithIt() {
        becomeLive();
        watch.add(ANN, List.of(NAME), Duration.ofSeconds(5).toNanos(), LONG);
        await(BOB);
        goOn(10);
        driver.told.add("x");
        goOn(1);
        assertThat(woken).containsExactly(NAME);
    }

    @Test
    void whatIsToldWakesWhoWaitsForItAndNobodyElse() {
        becomeLive();
        await(ANN);
        driver.told.addAll(List.of("y", "\nan echo", "\tholder\tx", "not\u0000a name", "x"));
        goOn(1);
        assertThat(woken).containsExactly(NAME);
        assertThat(words).containsExactly("\tholder\tx");
        await(BOB);
        watch.forget(ANN);
        driver.told.add("x");
        goOn(1);
        assertThat(woken).as("another waits").containsExactly(NAME, NAME);
        watch.forget(BOB);
        driver.told.add("x");
        goOn(1);
        assertThat(woken).as("nobody waits").containsExactly(NAME, NAME);
    }

    @Test
    void aSessionThatMayStillListenIsNotForOthersAndIsTriedAgainAfterARest() {
        for (boolean unexpected : new boolean[] {false, true}) {
            calls.clear();
            opened = 0;
            driver.broken = !unexpected;
            driver.unexpected = unexpected;
            assertThat(watch.isReady()).isFalse();
            await(ANN);
            woken.clear();
            goOn(1);
            assertThat(calls).containsExactly("bound 2500", "listen", "abort", "close");
            assertThat(woken).as("who counted on it").containsExactly(NAME);
            goOn(3);
            assertThat(watch.isReady()).isFalse();
            assertThat(opened).as("while it rests").isEqualTo(1);
            goOn(2);
        }
    }

    @Test
    void theCloseEndsTheConnectionAndNobodyIsWokenAnyMore() {
        becomeLive();
        watch.add(ANN, List.of(NAME), LONG, Duration.ofSeconds(3).toNanos());
        watch.close();
        assertThat(calls).containsExactly("abort");
        goOn(1);
        assertThat(calls).contains("close");
        woken.clear();
        goOn(10);
        assertThat(woken).isEmpty();
        assertThat(watch.isReady()).isFalse();
        goOn(10);
        assertThat(opened).isEqualTo(1);
    }

    /** The close of a store continues: it must still wait for the worker. */
    @Test
    void aDriverThatCannotAbortEndsNoClose() {
        becomeLive();
        refusesAbort = true;
        watch.close();
        goOn(1);
        assertThat(calls).contains("close");
        refusesAbort = false;
    }

    @Test
    void aConnectionThatComesAfterTheCloseIsGivenBack() {
        opensSlowly = true;
        assertThat(watch.isReady()).isFalse();
        watch.close();
        goOn(2);
        assertThat(calls).containsExactly("bound 2500", "bound 0", "close");
        assertThat(echoes).isEmpty();
    }

    @Test
    void whoChangesARowTellsOnlyWhereSomebodyWaitsForIt() throws SQLException {
        Dialect dialect =
                VerbsBench.h2(null, new Dialect.ByNotifications("INSERT INTO told (payload) VALUES (?)", driver));
        try (VerbsBench bench = new VerbsBench(dialect, "jdbc:h2:mem:")) {
            bench.execute("CREATE TABLE told (payload VARCHAR)");
            watch.changed(bench.row("a", null, null), bench.table);
            watch.changed(bench.row("b", null, bench.waiter(ANN)), bench.table);
            assertThat(bench.table.number("SELECT COUNT(*) FROM told")).isEqualTo(1);
            assertThat(bench.table.number("SELECT COUNT(*) FROM told WHERE payload = 'b'"))
                    .isEqualTo(1);
        }
    }

    /** No notification reports the end of a ttl. */
    @Test
    void whoWaitsForAHoldIsWokenAtItsEnd() throws SQLException {
        becomeLive();
        try (VerbsBench bench = new VerbsBench(VerbsBench.h2(null, Dialect.Polling.INSTANCE), "jdbc:h2:mem:")) {
            LeaseVerbs verbs = new LeaseVerbs(bench.settings, bench.runtime, watch, () -> {});
            bench.table.insert(
                    bench.row("x", bench.held(ANN, Duration.ofSeconds(2).toNanos(), null), null));
            assertThat(verbs.acquire(VerbsBench.waiting(BOB, "x"), bench.table))
                    .isInstanceOf(AcquireReply.Queued.class);
            runtime.runFor(Duration.ofMillis(1_999));
            assertThat(woken).isEmpty();
            runtime.runFor(Duration.ofMillis(2));
            assertThat(woken).containsExactly(NAME);
        }
    }
}
