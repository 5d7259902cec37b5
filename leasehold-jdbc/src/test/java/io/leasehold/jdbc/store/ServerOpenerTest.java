package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The handling of late connections, in virtual time. */
@Tag("quick")
@Timeout(60)
class ServerOpenerTest {

    private static final long SHORT = Duration.ofMillis(100).toNanos();
    private static final long LONG = Duration.ofSeconds(10).toNanos();

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final List<Connection> closed = new ArrayList<>();
    private int tries;
    private long openingTakesNanos;
    private final ServerOpener opener = new ServerOpener(runtime, this::source);

    private LeaseTable source() throws SQLException {
        tries++;
        CompletableFuture<Void> over = new CompletableFuture<>();
        runtime.schedule(openingTakesNanos, () -> over.complete(null));
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return table();
    }

    private LeaseTable table() throws SQLException {
        Connection connection = (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getAutoCommit" -> true;
                    case "isReadOnly" -> false;
                    case "getNetworkTimeout" -> 0;
                    case "close" -> {
                        closed.add((Connection) proxy);
                        yield null;
                    }
                    case "hashCode" -> System.identityHashCode(proxy);
                    case "equals" -> proxy == arguments[0];
                    default -> throw new AssertionError(method);
                });
        return new LeaseTable(
                Loan.begin(connection, Dialect.Tuning.NONE), H2Dialect.dialect(), new Incarnation("this one"));
    }

    /** Requests a connection; returns the result after the time has passed. */
    private @Nullable Object asks(ServerOpener asked, long withinNanos, Duration passes) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        runtime.startThread("asks", () -> {
            try {
                answer.complete(asked.open(withinNanos));
            } catch (SQLException | RuntimeException e) {
                answer.complete(e);
            }
        });
        runtime.runFor(passes);
        return answer.getNow(null);
    }

    private void comesTooLate() {
        openingTakesNanos = 2 * SHORT;
        assertThat(asks(opener, SHORT, Duration.ofMillis(101)))
                .isInstanceOf(SQLException.class)
                .hasToString(
                        "java.sql.SQLTransientConnectionException: no connection came within 100 ms: the database does"
                                + " not answer, or all connections of the pool are in use");
    }

    @Test
    void whatCameTooLateIsTheNextAskersAndHisAlone() {
        comesTooLate();
        runtime.runFor(Duration.ofMillis(101));
        Object handedOut = asks(opener, SHORT, Duration.ofMillis(1));
        assertThat(handedOut).isInstanceOf(LeaseTable.class);
        assertThat(tries).isEqualTo(1);
        runtime.runFor(Duration.ofSeconds(10));
        assertThat(closed).as("it is in use").isEmpty();
        assertThat(asks(opener, LONG, Duration.ofSeconds(1)))
                .isInstanceOf(LeaseTable.class)
                .isNotSameAs(handedOut);
        assertThat(tries).isEqualTo(2);
    }

    @Test
    void whatNobodyAsksForGoesBackAfterThreeSecondsOrAtTheClose() {
        comesTooLate();
        runtime.runFor(Duration.ofMillis(3_098));
        assertThat(closed).isEmpty();
        runtime.runFor(Duration.ofMillis(3));
        assertThat(closed).hasSize(1);
        comesTooLate();
        runtime.runFor(Duration.ofMillis(101));
        opener.close();
        assertThat(closed).hasSize(2);
        runtime.runFor(Duration.ofSeconds(10));
        assertThat(closed).hasSize(2);
        opener.close();
        assertThat(closed).hasSize(2);
    }

    @Test
    void aTryThatIsNotLateGetsNoCompany() {
        comesTooLate();
        assertThat(asks(opener, LONG, Duration.ofMillis(101))).isInstanceOf(LeaseTable.class);
        assertThat(tries).isEqualTo(1);
        comesTooLate();
        openingTakesNanos = LONG;
        asks(opener, SHORT, Duration.ofMillis(10));
        assertThat(tries).as("one that is late gets company").isEqualTo(3);
    }

    /** A pool that waits endlessly: each thread in it is blocked. */
    @Test
    void triesThatNeverEndBecomeRareButDoNotStop() {
        openingTakesNanos = Duration.ofDays(2).toNanos();
        for (int second = 0; second < 3_600; second++) {
            asks(opener, SHORT, Duration.ofSeconds(1));
        }
        assertThat(tries).as("in an hour").isBetween(13, 16);
        for (int second = 0; second < 3_600; second++) {
            asks(opener, SHORT, Duration.ofSeconds(1));
        }
        assertThat(tries).as("in two hours").isBetween(19, 22);
    }

    /** For example without memory for the timer. */
    @Test
    void aConnectionForAnAskerWhoseTimerCannotBeStartedIsKeptForTheNextOrGoesBack() {
        int[] fails = {1};
        LockRuntime failing = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule") && fails[0]-- > 0) {
                        throw new IllegalStateException("no timer");
                    }
                    try {
                        return method.invoke(runtime, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        ServerOpener without = new ServerOpener(failing, this::source);
        openingTakesNanos = SHORT;
        assertThat(asks(without, LONG, Duration.ofMillis(50))).hasToString("java.lang.IllegalStateException: no timer");
        runtime.runFor(Duration.ofSeconds(4));
        assertThat(closed).hasSize(1);
        fails[0] = 2;
        asks(without, LONG, Duration.ofMillis(50));
        runtime.runFor(Duration.ofSeconds(4));
        assertThat(closed).as("it cannot be kept for some seconds").hasSize(2);
    }

    @Test
    void nobodyIsLockedOutAndNoTimerStays() throws Exception {
        assertThat(asks(opener, LONG, Duration.ofMillis(1))).isInstanceOf(LeaseTable.class);
        assertThat(runtime.world().pendingEvents()).as("its time limit").isZero();
        asks(opener, Long.MAX_VALUE, Duration.ofMillis(1));
        assertThat(runtime.world().pendingEvents()).isZero();
        opener.close();
        Thread other = new Thread(opener::close, "another");
        other.setDaemon(true);
        other.start();
        other.join(10_000);
        assertThat(other.isAlive()).isFalse();
    }

    /** The connection has come, but the thread that waited for it is interrupted. */
    @Test
    void aConnectionThatComesWithTheInterruptGoesBack() {
        LockRuntime interrupting = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    try {
                        Object result = method.invoke(runtime, arguments);
                        if (method.getName().equals("await")) {
                            throw new InterruptedException("too");
                        }
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        ServerOpener interrupted = new ServerOpener(interrupting, this::source);
        assertThat(asks(interrupted, LONG, Duration.ofSeconds(1))).isInstanceOf(StoreUnavailableException.class);
        assertThat(closed).hasSize(1);
    }

    /** A pool without a free connection: the start is interrupted, and nothing would ever return the connection. */
    @Test
    void aConnectionThatComesAfterAnInterruptedStartGoesBack() {
        openingTakesNanos = LONG;
        LockRuntime interrupting = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("await")) {
                        throw new InterruptedException("at once");
                    }
                    return method.invoke(runtime, arguments);
                });
        ServerOpener interrupted = new ServerOpener(interrupting, this::source);
        CompletableFuture<Object> answer = new CompletableFuture<>();
        runtime.startThread("start", () -> {
            try {
                answer.complete(KeptConnection.own(interrupted, KeptConnection.Patience.ENDLESS));
            } catch (SQLException | RuntimeException e) {
                answer.complete(e);
            }
        });
        runtime.runFor(Duration.ofNanos(LONG + 1));
        assertThat(answer.join()).isInstanceOf(StoreUnavailableException.class);
        assertThat(closed).hasSize(1);
        assertThat(runtime.world().pendingEvents()).as("at once").isZero();
    }
}
