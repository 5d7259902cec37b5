package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.CAT;
import static io.leasehold.jdbc.store.VerbsBench.ORIGIN;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The times of polls, the rows that they read, and the waiters that they wake: over a real database, with the test's
 * clock.
 */
@Tag("quick")
class WakeWatchTimesTest {

    private static final long MILLI = 1_000_000L;
    private static final long SECOND = 1_000 * MILLI;
    private static final long MINUTE = 60 * SECOND;
    private static final int MAX_READS = 256;

    private final List<Long> delays = new ArrayList<>();
    private final List<LockName> woken = new ArrayList<>();
    private VerbsBench bench;
    private WakeWatch watch;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(VerbsBench.h2(null, new Dialect.ByChanges("SELECT n FROM changes")), "jdbc:h2:mem:");
        bench.execute("CREATE TABLE changes (n INT)");
        bench.execute("INSERT INTO changes VALUES (0)");
        LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {LockRuntime.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "nanoTime" -> bench.nowNanos;
                    case "schedule" -> {
                        delays.add((Long) arguments[0]);
                        yield (LockRuntime.Timer) () -> {};
                    }
                    default -> throw new AssertionError(method);
                });
        watch = new WakeWatch(runtime, bench.settings.clock(), Lives.UNKNOWN, () -> {}, woken::add);
    }

    @AfterEach
    void close() throws SQLException {
        bench.close();
    }

    /** Polls; returns the time until the next poll. */
    private long look() throws SQLException {
        delays.clear();
        woken.clear();
        watch.look(bench.table);
        assertThat(delays).hasSize(1);
        return delays.get(0);
    }

    private void holds(String name, long leftNanos) throws SQLException {
        bench.table.insert(bench.row(name, bench.held(CAT, leftNanos, null), bench.waiter(BOB)));
    }

    private void awaits(OwnerToken owner, String... names) {
        List<LockName> all = new ArrayList<>();
        for (String name : names) {
            all.add(name(name));
        }
        watch.add(owner, all, MINUTE, MINUTE);
    }

    private void isReleased(String name) throws SQLException {
        bench.table.update(new LeaseRow(name(name), ORIGIN, null, null, bench.nowNanos, 7));
    }

    private void isReleasedElsewhere(String name) throws SQLException {
        isReleased(name);
        bench.execute("UPDATE changes SET n = n + 1");
    }

    @Test
    void theTimeBetweenTwoLooksIsAnEighthOfTheCalmFromOneToTwentyMillis() throws SQLException {
        assertThat(watch.isReady()).isTrue();
        holds("x", MINUTE);
        awaits(ANN, "x");
        assertThat(delays).containsExactly(MILLI);
        assertThat(look()).as("just begun").isEqualTo(MILLI);
        bench.nowNanos += 80 * MILLI;
        assertThat(look()).isEqualTo(10 * MILLI);
        bench.nowNanos += SECOND;
        assertThat(look()).isEqualTo(20 * MILLI);
        bench.execute("UPDATE changes SET n = n + 1");
        assertThat(look()).as("something was written").isEqualTo(MILLI);
        bench.nowNanos += 40 * MILLI;
        assertThat(look()).isEqualTo(5 * MILLI);
        assertThat(woken).isEmpty();
    }

    @Test
    void onlyTheFirstWhoWaitsEndsTheCalm() throws SQLException {
        holds("x", MINUTE);
        awaits(ANN, "x");
        look();
        bench.nowNanos += SECOND;
        awaits(BOB, "x");
        assertThat(look()).isEqualTo(20 * MILLI);
        watch.forget(ANN);
        watch.forget(BOB);
        bench.nowNanos += SECOND;
        delays.clear();
        watch.look(bench.table);
        assertThat(delays).as("nobody waits").isEmpty();
        awaits(ANN, "x");
        assertThat(delays).containsExactly(MILLI);
        assertThat(look()).isEqualTo(MILLI);
    }

    @Test
    void whileNobodyWaitsTheDatabaseIsNotAsked() throws SQLException {
        bench.execute("DROP TABLE changes");
        watch.look(bench.table);
        assertThat(delays).isEmpty();
    }

    @Test
    void whatWasNotReadInOneLookIsReadInAMoment() throws SQLException {
        holds("x", MINUTE);
        awaits(ANN, "x");
        look();
        bench.nowNanos += SECOND;
        for (int i = 0; i < MAX_READS + 1; i++) {
            awaits(OwnerToken.draw(bench.runtime), "free-" + i);
        }
        assertThat(look()).isEqualTo(MILLI);
        assertThat(woken).hasSize(MAX_READS);
        assertThat(look()).isEqualTo(20 * MILLI);
        assertThat(woken).hasSize(1);
    }

    @Test
    void itIsLookedWhenAHoldEndsAndNotBefore() throws SQLException {
        bench.table.insert(bench.row("x", bench.held(CAT, SECOND, null), bench.waiter(ANN)));
        awaits(ANN, "x");
        look();
        bench.nowNanos += SECOND - 5 * MILLI;
        assertThat(look()).isEqualTo(5 * MILLI);
        bench.nowNanos += 5 * MILLI - 1;
        assertThat(look()).isEqualTo(MILLI);
        assertThat(woken).isEmpty();
        bench.nowNanos++;
        look();
        assertThat(woken).containsExactly(name("x"));
    }

    @Test
    void aLockThatIsKeptForAnotherIsLookedAtWhenItsClaimIsOver() throws SQLException {
        bench.table.insert(new LeaseRow(name("x"), ORIGIN, null, bench.waiter(BOB), bench.nowNanos, 7));
        watch.add(ANN, List.of(name("x")), MINUTE, MINUTE);
        look();
        assertThat(woken).isEmpty();
        bench.nowNanos += LeaseRules.CLAIM.toNanos() - 2 * MILLI;
        assertThat(look()).isEqualTo(2 * MILLI);
        bench.nowNanos += 2 * MILLI - 1;
        look();
        assertThat(woken).isEmpty();
        bench.nowNanos++;
        look();
        assertThat(woken).containsExactly(name("x"));
        bench.nowNanos += 50 * MILLI - 1;
        look();
        assertThat(woken).as("woken a moment ago").isEmpty();
        bench.nowNanos++;
        look();
        assertThat(woken).as("it has neither asked nor gone").containsExactly(name("x"));
    }

    @Test
    void aWaiterHearsAtTheTimeAtWhichItWantedALook() throws SQLException {
        holds("x", MINUTE);
        watch.add(ANN, List.of(name("x")), MINUTE, 3 * MILLI);
        assertThat(look()).isEqualTo(MILLI);
        watch.add(BOB, List.of(name("x")), MINUTE, MINUTE);
        bench.nowNanos += SECOND;
        assertThat(look()).isEqualTo(20 * MILLI);
    }

    @Test
    void aWaiterIsForgottenWhenItsTimeIsOverAndNotBefore() throws SQLException {
        holds("x", MINUTE);
        watch.add(ANN, List.of(name("x")), SECOND, MINUTE);
        look();
        bench.nowNanos += SECOND - 1;
        look();
        bench.nowNanos++;
        delays.clear();
        watch.look(bench.table);
        assertThat(delays).isEmpty();
        isReleased("x");
        watch.changed(bench.row("x", null, null), bench.table);
        assertThat(delays).isEmpty();
    }

    @Test
    void aReleaseHereIsReadByTheNextLookForAllWhoAwaitItStill() throws SQLException {
        holds("x", MINUTE);
        holds("y", MINUTE);
        awaits(ANN, "x");
        awaits(BOB, "x", "y");
        awaits(BOB, "x");
        awaits(CAT, "x");
        look();
        watch.forget(CAT);
        bench.nowNanos += SECOND;
        look();
        delays.clear();
        isReleased("y");
        watch.changed(bench.row("y", null, null), bench.table);
        assertThat(look()).as("nobody awaits it any more").isEqualTo(20 * MILLI);
        isReleased("x");
        watch.changed(bench.row("x", null, null), bench.table);
        assertThat(look()).isEqualTo(MILLI);
        assertThat(woken).containsExactly(name("x"), name("x"));
        watch.forget(ANN);
        watch.changed(bench.row("x", null, null), bench.table);
        look();
        assertThat(woken).as("of one that has gone nothing is left").containsExactly(name("x"));
    }

    @Test
    void aReleaseElsewhereIsSeenByItsChange() throws SQLException {
        holds("x", MINUTE);
        awaits(ANN, "x");
        look();
        bench.nowNanos += SECOND;
        isReleasedElsewhere("x");
        assertThat(look()).isEqualTo(MILLI);
        assertThat(woken).containsExactly(name("x"));
    }

    @Test
    void afterTheCloseNoLookIsMadeUpFor() {
        awaits(ANN, "x");
        delays.clear();
        watch.lookFailed();
        assertThat(delays).containsExactly(Duration.ofMillis(20).toNanos());
        watch.close();
        delays.clear();
        watch.lookFailed();
        assertThat(delays).isEmpty();
    }
}
