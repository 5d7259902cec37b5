package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Waits for connections, their bounds, how long they are kept, and retries: in virtual time, over connections that
 * record their calls.
 */
@Tag("quick")
@Timeout(60)
class KeptConnectionEdgesTest {

    private static final KeptConnection.Patience PATIENCE = new KeptConnection.Patience(10_000_000L, 200_000_000L);

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final List<String> calls = new ArrayList<>();
    private final Deque<Throwable> failures = new ArrayDeque<>();
    private int opened;
    private boolean cannotBeBounded;
    private long openingTakesNanos;

    private LeaseTable table() throws SQLException {
        int number = ++opened;
        Connection connection = (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getAutoCommit" -> true;
                    case "isReadOnly" -> false;
                    case "getNetworkTimeout" -> 0;
                    case "setNetworkTimeout" -> {
                        if (cannotBeBounded) {
                            throw new SQLException("the connection is closed", "08003");
                        }
                        yield noted(number + " bound " + arguments[1]);
                    }
                    case "abort", "close" -> noted(number + " " + method.getName());
                    default -> throw new AssertionError(method);
                });
        return new LeaseTable(
                Loan.begin(connection, Dialect.Tuning.NONE), H2Dialect.dialect(), new Incarnation("this one"));
    }

    private @Nullable Object noted(String call) {
        calls.add(call);
        return null;
    }

    private final class Opener implements KeptConnection.Opener {
        private final List<Long> patience = new ArrayList<>();
        private boolean yes;

        @Override
        public LeaseTable open() throws SQLException {
            return table();
        }

        @Override
        public LeaseTable open(long withinNanos) throws SQLException {
            patience.add(withinNanos);
            return table();
        }

        @Override
        public boolean leadsToStore() {
            return yes;
        }

        @Override
        public boolean loginMayChange() {
            return yes;
        }

        @Override
        public void close() {
            calls.add("no more");
        }
    }

    @Test
    void anAnswerIsWaitedForAsLongAsTheShortestLimitSaysWithinItsBounds() throws SQLException {
        assertThat(PATIENCE.of(1)).isEqualTo(10_000_000L);
        assertThat(PATIENCE.of(50_000_000L)).isEqualTo(50_000_000L);
        assertThat(PATIENCE.of(Long.MAX_VALUE)).isEqualTo(200_000_000L);
        Opener opener = new Opener();
        KeptConnection kept = KeptConnection.own(opener, PATIENCE);
        assertThat(kept.mayFallSilent()).isTrue();
        assertThat(kept.leadsToStore()).isFalse();
        assertThat(kept.loginMayChange()).isFalse();
        kept.putBack(kept.take(50_000_000L), true);
        kept.take(30_000_000L);
        assertThat(calls).containsExactly("1 bound 50", "1 abort", "1 close", "2 bound 30");
        assertThat(opener.patience).containsExactly(30_000_000L);
    }

    @Test
    void aConnectionThatWasClosedWhileItWasKeptIsReplacedOnce() throws SQLException {
        KeptConnection kept = KeptConnection.own(new Opener(), PATIENCE);
        cannotBeBounded = true;
        assertThatThrownBy(() -> kept.take(1))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("as soon as it was opened");
        assertThat(calls).containsExactly("1 abort", "1 close", "2 abort", "2 close");
        cannotBeBounded = false;
        assertThat(kept.isOpen()).isFalse();
        LeaseTable third = kept.take(1);
        assertThat(kept.isOpen()).as("while it is used").isFalse();
        kept.putBack(third, false);
        assertThat(kept.isOpen()).isTrue();
        assertThat(opened).isEqualTo(3);
    }

    @Test
    void aFileIsNeitherBoundedNorGivenBack() throws SQLException {
        Opener opener = new Opener();
        KeptConnection kept = KeptConnection.toFile(opener);
        assertThat(kept.mayFallSilent()).isFalse();
        LeaseTable table = kept.take(1);
        kept.needFor(1);
        kept.putBack(table, false);
        assertThat(kept.take(1)).isSameAs(table);
        kept.putBack(table, false);
        assertThat(calls).isEmpty();
        kept.close();
        assertThat(calls).containsExactly("no more", "1 close");
    }

    @Test
    void whatIsBorrowedIsGivenBackHalfAMinuteAfterTheLongestNeed() throws SQLException {
        KeptConnection kept = KeptConnection.borrowed(new Opener(), PATIENCE, runtime);
        kept.needFor(Duration.ofSeconds(60).toNanos());
        kept.needFor(Duration.ofSeconds(10).toNanos());
        runtime.runFor(Duration.ofMillis(89_990));
        assertThat(calls).isEmpty();
        runtime.runFor(Duration.ofMillis(20));
        assertThat(calls).containsExactly("1 close");
        kept.putBack(kept.take(1), false);
        runtime.runFor(Duration.ofMillis(29_990));
        assertThat(calls).containsExactly("1 close", "2 bound 10");
        kept.needFor(0);
        runtime.runFor(Duration.ofSeconds(29));
        assertThat(calls).containsExactly("1 close", "2 bound 10");
        runtime.runFor(Duration.ofSeconds(2));
        assertThat(calls).containsExactly("1 close", "2 bound 10", "2 bound 0", "2 close");
        assertThat(runtime.world().pendingEvents()).as("nothing runs for it").isZero();
    }

    @Test
    void oneTimerLooksAndNoneAfterTheClose() throws SQLException {
        KeptConnection kept = KeptConnection.borrowed(new Opener(), PATIENCE, runtime);
        for (int i = 0; i < 5; i++) {
            kept.putBack(kept.take(1), false);
        }
        assertThat(runtime.world().pendingEvents()).isEqualTo(1);
        kept.close();
        calls.clear();
        runtime.runFor(Duration.ofMinutes(2));
        assertThat(calls).isEmpty();
        assertThat(runtime.world().pendingEvents()).isZero();
    }

    /** The worker, the timer and callers use it, each on its own thread. */
    @Test
    void nothingStaysLockedForOtherThreads() throws Exception {
        KeptConnection kept = KeptConnection.borrowed(new Opener(), PATIENCE, runtime);
        isFree(kept);
        kept.isOpen();
        isFree(kept);
        kept.needFor(1);
        isFree(kept);
        LeaseTable table = kept.take(1);
        isFree(kept);
        kept.putBack(table, false);
        isFree(kept);
        kept.putBack(kept.take(1), true);
        isFree(kept);
        runtime.runFor(Duration.ofMinutes(2));
        isFree(kept);
        kept.close();
        isFree(kept);
    }

    private static void isFree(KeptConnection kept) throws InterruptedException {
        Thread other = new Thread(kept::isOpen, "another");
        other.setDaemon(true);
        other.start();
        other.join(10_000);
        assertThat(other.isAlive()).isFalse();
    }

    @Test
    void whatTheOpenerSaysOfItsStoreAndItsLogInIsSaid() throws SQLException {
        Opener opener = new Opener();
        KeptConnection kept = KeptConnection.own(opener, PATIENCE);
        opener.yes = true;
        assertThat(kept.leadsToStore()).isTrue();
        assertThat(kept.loginMayChange()).isTrue();
    }

    private LockRuntime without(String method, Throwable error) {
        return (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals(method)) {
                        throw error;
                    }
                    try {
                        return called.invoke(runtime, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void whereNoThreadCanBeHadAConnectionThatIsNotNeededIsEnded() throws SQLException {
        KeptConnection.giveBackElsewhere(table(), without("startThread", new OutOfMemoryError("no thread")));
        assertThat(calls).containsExactly("1 abort", "1 close");
    }

    @Test
    void whereNoThreadCanBeHadTheOpeningFailsAndIsTriedAgain() {
        ServerOpener opener = new ServerOpener(without("startThread", new OutOfMemoryError("no thread")), this::table);
        for (int i = 0; i < 5; i++) {
            assertThatThrownBy(opener::open)
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no thread to open a connection on");
        }
    }

    @Test
    void anInterruptEndsTheWaitForAConnectionAndIsKept() {
        ServerOpener opener = new ServerOpener(without("await", new InterruptedException()), this::table);
        assertThatThrownBy(opener::open)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
        runtime.runFor(Duration.ofSeconds(2));
        assertThat(calls).as("what comes later is kept for the next").isEmpty();
        runtime.runFor(Duration.ofSeconds(2));
        assertThat(calls).as("and given back if nobody asks").containsExactly("1 close");
    }

    private @Nullable Object asks(ServerOpener opener, long withinNanos) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        runtime.startThread("asks", () -> {
            try {
                answer.complete(opener.open(withinNanos));
            } catch (SQLException | RuntimeException | Error e) {
                answer.complete(e);
            }
        });
        runtime.runFor(Duration.ofSeconds(2));
        return answer.getNow(null);
    }

    private LeaseTable source() throws SQLException {
        CompletableFuture<Void> over = new CompletableFuture<>();
        runtime.schedule(openingTakesNanos, () -> over.complete(null));
        Throwable failure = failures.poll();
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        if (failure instanceof SQLException e) {
            throw e;
        } else if (failure instanceof RuntimeException e) {
            throw e;
        } else if (failure instanceof Error e) {
            throw e;
        }
        return table();
    }

    @Test
    void whatTheSourceThrowsIsThrownAsItIs() {
        ServerOpener opener = new ServerOpener(runtime, this::source);
        List<Throwable> errors = List.of(
                new SQLException("no"),
                new StoreAccessException("no", null),
                new IllegalStateException("no"),
                new NoClassDefFoundError("no"));
        for (Throwable error : errors) {
            failures.add(error);
            assertThat(asks(opener, Duration.ofSeconds(1).toNanos())).isSameAs(error);
        }
        int before = runtime.world().pendingEvents();
        assertThat(asks(opener, Duration.ofSeconds(1).toNanos())).isInstanceOf(LeaseTable.class);
        assertThat(runtime.world().pendingEvents()).as("its time limit").isEqualTo(before);
        assertThat(opener.leadsToStore()).isTrue();
        assertThat(opener.loginMayChange()).isFalse();
        ServerOpener.Source changing = new ServerOpener.Source() {
            @Override
            public LeaseTable open() throws SQLException {
                return table();
            }

            @Override
            public boolean loginMayChange() {
                return true;
            }
        };
        assertThat(new ServerOpener(runtime, changing).loginMayChange()).isTrue();
    }

    /** The other try may still succeed. */
    @Test
    void aTryThatFailsWhileAnotherIsUnderWayIsNotTold() {
        ServerOpener opener = new ServerOpener(runtime, this::source);
        openingTakesNanos = 700_000_000L;
        failures.add(new SQLException("of one that hangs"));
        CompletableFuture<Object> late = new CompletableFuture<>();
        runtime.startThread("asks", () -> {
            try {
                opener.open(300_000_000L);
            } catch (SQLException e) {
                late.complete(e);
            }
        });
        runtime.runFor(Duration.ofMillis(500));
        assertThat(late).isDone();
        openingTakesNanos = 400_000_000L;
        assertThat(asks(opener, 450_000_000L)).isInstanceOf(LeaseTable.class);
        assertThat(opened).isEqualTo(1);
    }

    @Test
    void anErrorWithoutACauseOfItsOwnIsACompletionThatFailed() {
        ServerOpener opener = new ServerOpener(runtime, this::source);
        failures.add(new CompletionException("made by the test", null));
        assertThat(asks(opener, 1_000_000_000L)).isInstanceOf(RuntimeException.class);
    }
}
