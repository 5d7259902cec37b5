package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.spi.Incarnation;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a connection is kept, returned and reopened. */
@Tag("quick")
@Timeout(60)
class KeptConnectionTest {

    private static final KeptConnection.Patience PATIENCE = new KeptConnection.Patience(10_000_000L, 200_000_000L);

    private final List<Connection> opened = Collections.synchronizedList(new ArrayList<>());

    private LeaseTable table() throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:h2:mem:");
        opened.add(connection);
        return new LeaseTable(
                Loan.begin(connection, Dialect.Tuning.NONE), H2Dialect.dialect(), new Incarnation("this one"));
    }

    private KeptConnection.Opener opener() {
        return new KeptConnection.Opener() {
            @Override
            public LeaseTable open() throws SQLException {
                return table();
            }

            @Override
            public boolean leadsToStore() {
                return true;
            }
        };
    }

    private static void awaitClosed(Connection connection) throws SQLException {
        while (!connection.isClosed()) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    @Test
    void aBorrowedConnectionIsGivenBackWhenNoLeaseCanNeedIt() throws SQLException {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        KeptConnection kept = KeptConnection.borrowed(opener(), PATIENCE, runtime);
        kept.needFor(Duration.ofMinutes(10).toNanos());
        kept.putBack(kept.take(1), false);
        runtime.runFor(Duration.ofMinutes(10));
        assertThat(opened.get(0).isClosed()).as("while a lease may last").isFalse();
        runtime.runFor(Duration.ofSeconds(31));
        assertThat(opened.get(0).isClosed()).isTrue();
        kept.putBack(kept.take(1), false);
        assertThat(opened).as("connections").hasSize(2);
        kept.close();
        assertThat(opened.get(1).isClosed()).isTrue();
    }

    @Test
    void aConnectionIsNotGivenBackWhileItIsUsed() throws SQLException {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        KeptConnection kept = KeptConnection.borrowed(opener(), PATIENCE, runtime);
        LeaseTable taken = kept.take(1);
        runtime.runFor(Duration.ofMinutes(5));
        assertThat(opened.get(0).isClosed()).isFalse();
        kept.putBack(taken, false);
        runtime.runUntilIdle();
        assertThat(opened.get(0).isClosed()).isTrue();
    }

    @Test
    void aConnectionOfOnesOwnStays() throws SQLException {
        KeptConnection kept = KeptConnection.own(opener(), PATIENCE);
        LeaseTable first = kept.take(1);
        kept.putBack(first, false);
        assertThat(kept.take(1)).isSameAs(first);
        kept.putBack(first, true);
        LeaseTable second = kept.take(1);
        assertThat(second).isNotSameAs(first);
        assertThat(opened.get(0).isClosed()).isTrue();
        kept.putBack(second, false);
        kept.close();
    }

    @Test
    void whatComesTooLateIsThereForTheNextWhoAsks() throws Exception {
        CompletableFuture<Void> slow = new CompletableFuture<>();
        try (CloseableRuntime clock = new CloseableRuntime()) {
            ServerOpener opener = new ServerOpener(clock.runtime, () -> {
                slow.join();
                return table();
            });
            for (int i = 0; i < 5; i++) {
                assertThatThrownBy(() -> opener.open(20_000_000L))
                        .isInstanceOf(SQLException.class)
                        .hasMessageContaining("no connection came");
            }
            slow.complete(null);
            LeaseTable late = opener.open(30_000_000_000L);
            assertThat(late.connection().isClosed()).isFalse();
            late.giveBack();
            opener.close();
            // The earlier tries leave no connection open.
            while (opened.size() < 3) {
                LockSupport.parkNanos(1_000_000);
            }
            assertThat(opened).hasSize(3);
            for (Connection connection : opened) {
                awaitClosed(connection);
            }
        }
    }

    @Test
    void anErrorOfTheSourceIsToldAndTheNextTryIsMade() throws Exception {
        try (CloseableRuntime clock = new CloseableRuntime()) {
            CompletableFuture<Void> mended = new CompletableFuture<>();
            ServerOpener opener = new ServerOpener(clock.runtime, () -> {
                if (!mended.isDone()) {
                    throw new NoClassDefFoundError("a driver that is half there");
                }
                return table();
            });
            assertThatThrownBy(opener::open).isInstanceOf(NoClassDefFoundError.class);
            mended.complete(null);
            opener.open().giveBack();
        }
    }

    /** The connection comes after the caller has gone, and is kept for a moment: then it is closed, and never lent. */
    @Test
    void whatNobodyWantsIsClosedAndNotHandedOut() throws Exception {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        AtomicBoolean slow = new AtomicBoolean(true);
        ServerOpener opener = new ServerOpener(runtime, () -> {
            if (slow.get()) {
                pause(runtime, Duration.ofSeconds(1));
            }
            return table();
        });
        AtomicReference<Exception> late = new AtomicReference<>();
        runtime.startThread("asks", () -> {
            try {
                opener.open(500_000_000L).giveBack();
            } catch (SQLException e) {
                late.set(e);
            }
        });
        runtime.runFor(Duration.ofMillis(3_900));
        assertThat(late.get()).hasMessageContaining("no connection came within 500 ms");
        assertThat(opened).hasSize(1);
        assertThat(opened.get(0).isClosed()).as("for the next who asks").isFalse();
        runtime.runFor(Duration.ofMillis(200));
        assertThat(opened.get(0).isClosed()).isTrue();
        slow.set(false);
        CompletableFuture<Boolean> closed = new CompletableFuture<>();
        runtime.startThread("asks again", () -> {
            try {
                closed.complete(opener.open(500_000_000L).connection().isClosed());
            } catch (SQLException e) {
                closed.completeExceptionally(e);
            }
        });
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(closed).isCompletedWithValue(false);
        opener.close();
    }

    /** The close ends all tries: a connection that comes later is closed at once. */
    @Test
    void whatComesAfterTheCloseIsClosed() throws Exception {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        ServerOpener opener = new ServerOpener(runtime, () -> {
            pause(runtime, Duration.ofSeconds(1));
            return table();
        });
        runtime.startThread(
                "asks",
                () -> assertThatThrownBy(() -> opener.open(500_000_000L)).isInstanceOf(SQLException.class));
        runtime.runFor(Duration.ofMillis(600));
        opener.close();
        runtime.runFor(Duration.ofMillis(500));
        assertThat(opened).hasSize(1);
        assertThat(opened.get(0).isClosed()).isTrue();
        assertThat(runtime.world().pendingEvents()).isZero();
    }

    /** Each try that takes too long gets another one next to it, up to three; the first may lead to a dead server. */
    @Test
    void triesThatHangGetCompanyAndAreForgottenInTheEnd() throws Exception {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        AtomicInteger tries = new AtomicInteger();
        ServerOpener opener = new ServerOpener(runtime, () -> {
            tries.incrementAndGet();
            pause(runtime, Duration.ofDays(1));
            return table();
        });
        List<Integer> counts = new ArrayList<>();
        runtime.startThread("asks", () -> {
            for (int i = 0; i < 40; i++) {
                assertThatThrownBy(() -> opener.open(1_000_000_000L)).isInstanceOf(SQLException.class);
                counts.add(tries.get());
            }
        });
        runtime.runFor(Duration.ofSeconds(41));
        assertThat(counts.subList(0, 29)).startsWith(1, 2, 3).endsWith(3, 3);
        assertThat(counts).hasSize(40).endsWith(6);
        opener.close();
    }

    private static void pause(VirtualRuntime runtime, Duration span) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        runtime.schedule(span.toNanos(), () -> over.complete(null));
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A runtime that ends with the test. */
    private static final class CloseableRuntime implements AutoCloseable {
        private final SystemLockRuntime runtime = new SystemLockRuntime();

        @Override
        public void close() {
            runtime.close();
        }
    }
}
