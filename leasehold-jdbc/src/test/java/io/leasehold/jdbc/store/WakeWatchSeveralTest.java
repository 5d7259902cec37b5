package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A waiter for several locks, a waiter that changes its locks, and holders that have gone. */
@Tag("quick")
class WakeWatchSeveralTest {

    private static final int HOLDERS = 10;

    @TempDir
    private Path directory;

    private VerbsBench bench;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve("t.db"));
    }

    @AfterEach
    void close() throws SQLException {
        bench.close();
    }

    private void held(String name, String life) throws SQLException {
        bench.table.insert(bench.row(name, bench.held(OwnerToken.draw(bench.runtime), TTL, life), bench.waiter(BOB)));
    }

    @Test
    void whoWaitsForSeveralLocksIsWokenForEachAndOnlyWhenAllAreFree() throws SQLException {
        held("y", "a life");
        bench.watch.add(ANN, List.of(name("x"), name("y")), TTL, TTL);
        bench.watch.add(BOB, List.of(name("y"), name("x"), name("z")), TTL, TTL);
        assertThat(bench.wokenByALook()).as("one of two is held").isEmpty();
        bench.execute("UPDATE leasehold_lock SET owner = NULL, waiter = NULL");
        bench.watch.changed(bench.row("y", null, null), bench.table);
        assertThat(bench.wokenByALook()).containsExactly(name("x"), name("y"), name("y"), name("x"), name("z"));
    }

    @Test
    void nothingIsKeptOfTheLocksThatAWaiterAwaitedBefore() {
        WeakReference<OwnerToken> gone = gone();
        for (int i = 0; i < 50 && gone.get() != null; i++) {
            System.gc();
        }
        assertThat(gone.get()).isNull();
    }

    private WeakReference<OwnerToken> gone() {
        OwnerToken owner = OwnerToken.draw(bench.runtime);
        bench.watch.add(owner, List.of(name("x"), name("y")), TTL, TTL);
        bench.watch.add(owner, List.of(name("z")), TTL, TTL);
        bench.watch.forget(owner);
        return new WeakReference<>(owner);
    }

    @Test
    void aHolderThatHoldsNoMoreIsAskedAfterNoMore() throws SQLException {
        held("x", "former");
        bench.watch.add(ANN, List.of(name("x")), TTL, TTL);
        bench.wokenByALook();
        bench.wokenByALook();
        assertThat(bench.asked).contains("former");
        bench.execute("UPDATE leasehold_lock SET life = 'present'");
        bench.watch.changed(bench.row("x", null, null), bench.table);
        bench.wokenByALook();
        bench.asked.clear();
        bench.wokenByALook();
        bench.wokenByALook();
        assertThat(bench.asked).contains("present").doesNotContain("former");
    }

    @Test
    void holdersThatHaveGoneTakeNoTurnFromOthers() throws SQLException {
        List<OwnerToken> gone = awaitHolders("gone");
        awaitHolders("there");
        bench.wokenByALook();
        gone.forEach(bench.watch::forget);
        bench.wokenByALook();
        bench.wokenByALook();
        bench.asked.clear();
        bench.wokenByALook();
        bench.wokenByALook();
        for (int i = 0; i < HOLDERS; i++) {
            assertThat(bench.asked).as("again and again").contains("life-there-" + i);
        }
        assertThat(bench.asked).noneMatch(life -> life.startsWith("life-gone"));
    }

    /** The watch knows them, and so checks them, from the next poll on. */
    private List<OwnerToken> awaitHolders(String which) throws SQLException {
        List<OwnerToken> waiters = new ArrayList<>();
        bench.execute("BEGIN");
        for (int i = 0; i < HOLDERS; i++) {
            held(which + i, "life-" + which + "-" + i);
            OwnerToken waiter = OwnerToken.draw(bench.runtime);
            waiters.add(waiter);
            bench.watch.add(waiter, List.of(name(which + i)), TTL, TTL);
        }
        bench.execute("COMMIT");
        bench.wokenByALook();
        return waiters;
    }

    /** A poll that counts as pending without a timer would never come. */
    @Test
    void whereNoTimerCouldBeArmedForAWaiterTheNextOneBringsTheLook() {
        List<Long> timers = new ArrayList<>();
        WakeWatch watch = refusedOnce(timers);
        watch.add(BOB, List.of(name("x")), TTL, TTL);
        watch.add(ANN, List.of(name("x")), TTL, TTL);
        assertThat(timers).containsExactly(Duration.ofMillis(1).toNanos());
    }

    @Test
    void whereNoTimerCouldBeArmedForAWaiterTheNextChangeBringsTheLook() {
        List<Long> timers = new ArrayList<>();
        WakeWatch watch = refusedOnce(timers);
        watch.changed(bench.row("y", null, null), bench.table);
        assertThat(timers).as("nobody awaits it").isEmpty();
        watch.changed(bench.row("x", null, null), bench.table);
        watch.changed(bench.row("x", null, null), bench.table);
        assertThat(timers).containsExactly(Duration.ofMillis(1).toNanos());
    }

    /** A watch with a waiter for x, for which no timer could be armed; records the timers that it armed later. */
    private WakeWatch refusedOnce(List<Long> timers) {
        int[] refusals = {1};
        LockRuntime refusing = (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule")) {
                        if (refusals[0]-- > 0) {
                            throw new InternalError("made by the test");
                        }
                        timers.add((Long) arguments[0]);
                        return (LockRuntime.Timer) () -> {};
                    }
                    return method.invoke(bench.runtime, arguments);
                });
        WakeWatch watch = new WakeWatch(refusing, bench.settings.clock(), bench.settings.lives(), () -> {}, name -> {});
        assertThatThrownBy(() -> watch.add(ANN, List.of(name("x")), TTL, TTL)).isInstanceOf(InternalError.class);
        return watch;
    }
}
