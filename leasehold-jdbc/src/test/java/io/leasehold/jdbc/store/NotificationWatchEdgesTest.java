package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
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

/**
 * The second waiter, the second lock, the second notification of a batch; and a close during the end of a connection.
 * In virtual time.
 */
@Tag("quick")
@Timeout(60)
class NotificationWatchEdgesTest {

    private static final LockName X = LockName.exactly("x");
    private static final LockName Y = LockName.exactly("y");
    private static final OwnerToken ANN = OwnerToken.fromHex("a".repeat(40));
    private static final OwnerToken BOB = OwnerToken.fromHex("b".repeat(40));
    private static final long LONG = Duration.ofDays(1).toNanos();

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final Told driver = new Told();
    private final List<String> echoes = new ArrayList<>();
    private final List<LockName> woken = new ArrayList<>();
    private final List<String> words = new ArrayList<>();
    private final List<String> calls = new ArrayList<>();
    private Runnable whenOneGoesBack = () -> {};
    private final NotificationWatch watch = new NotificationWatch(
            runtime, driver, this::open, this::echo, new NotificationWatch.Listener(woken::add, words::add), "here");

    @AfterEach
    void close() {
        driver.broken = true;
        watch.close();
        goOn(10);
    }

    private CompletableFuture<Boolean> echo(String payload) {
        echoes.add(payload);
        return CompletableFuture.completedFuture(true);
    }

    private Connection open() {
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getAutoCommit" -> true;
                    case "isReadOnly" -> false;
                    case "getNetworkTimeout" -> 0;
                    case "setNetworkTimeout" -> null;
                    case "abort" -> noted("abort");
                    case "close" -> closed();
                    default -> throw new AssertionError(method);
                });
    }

    private @Nullable Object noted(String call) {
        calls.add(call);
        return null;
    }

    private @Nullable Object closed() {
        noted("close");
        whenOneGoesBack.run();
        return null;
    }

    /** Delivers notifications half a second later. */
    private final class Told implements Dialect.Driver {
        private final List<String> told = new ArrayList<>();
        private boolean broken;

        @Override
        public boolean canListen(Connection connection) {
            return true;
        }

        @Override
        public void listen(Connection connection) {}

        @Override
        public List<String> next(Connection connection, int millis) throws SQLException {
            CompletableFuture<Void> over = new CompletableFuture<>();
            runtime.schedule(millis * 1_000_000L, () -> over.complete(null));
            try {
                runtime.await(over);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            if (broken) {
                throw new SQLException("the connection is broken", "08006");
            }
            List<String> now = List.copyOf(told);
            told.clear();
            return now;
        }

        @Override
        public void ask(Connection connection) {}

        @Override
        public void unlisten(Connection connection) {
            noted("unlisten");
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
    }

    /** A pool may have lent it to another caller by then. */
    @Test
    void theCloseEndsNoConnectionThatGoesBack() {
        becomeLive();
        whenOneGoesBack = watch::close;
        goOn(40);
        assertThat(calls).containsExactly("unlisten", "close");
        assertThat(watch.isReady()).isFalse();
    }

    @Test
    void theCloseAfterAnotherTryEndsNoConnectionThatHasGoneBackBefore() {
        becomeLive();
        goOn(40);
        assertThat(calls).containsExactly("unlisten", "close");
        assertThat(watch.isReady()).isFalse();
        watch.close();
        goOn(10);
        assertThat(calls).as("and the one that was being opened").containsExactly("unlisten", "close", "close");
    }

    @Test
    void aSecondCloseEndsNothing() {
        becomeLive();
        driver.broken = true;
        watch.close();
        goOn(1);
        int before = calls.size();
        watch.close();
        assertThat(calls).hasSize(before);
        assertThat(calls.get(0)).isEqualTo("abort");
    }

    @Test
    void whatIsToldTogetherWithTheEchoIsHeardToo() {
        assertThat(watch.isReady()).isFalse();
        watch.add(ANN, List.of(X), LONG, LONG);
        goOn(1);
        driver.told.addAll(List.of(echoes.get(0), "x", "\tholder\ty", "\tholder\tz"));
        goOn(1);
        assertThat(woken).containsExactly(X);
        assertThat(words).containsExactly("\tholder\ty", "\tholder\tz");
    }

    @Test
    void eachLockOfAWaiterIsLookedAtWhenItMayBeFree() {
        becomeLive();
        watch.add(ANN, List.of(X, Y), LONG, Duration.ofSeconds(3).toNanos());
        goOn(4);
        assertThat(woken).containsExactly(X, Y);
    }

    @Test
    void whoeverCountedOnAConnectionThatBrokeIsWoken() {
        becomeLive();
        watch.add(ANN, List.of(X), LONG, LONG);
        watch.add(BOB, List.of(Y), LONG, LONG);
        driver.broken = true;
        goOn(1);
        assertThat(woken).containsExactlyInAnyOrder(X, Y);
    }

    @Test
    void aWaiterThatAsksForOtherLocksAwaitsTheFormerOnesNoMore() {
        becomeLive();
        watch.add(ANN, List.of(X), LONG, LONG);
        watch.add(ANN, List.of(Y), LONG, LONG);
        driver.told.addAll(List.of("x", "y"));
        goOn(1);
        assertThat(woken).containsExactly(Y);
    }
}
