package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.spi.OwnerToken;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The death of a holder wakes its waiters, though no process records it. */
@Tag("quick")
class WakeWatchDeathsTest {

    /** The number of holders that are checked in one poll. */
    private static final int MAX_IN_A_LOOK = 64;

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

    private void awaitHolders(int count) throws SQLException {
        bench.execute("BEGIN");
        for (int i = 0; i < count; i++) {
            OwnerToken waiter = OwnerToken.draw(bench.runtime);
            bench.table.insert(bench.row(
                    "x" + i, bench.held(OwnerToken.draw(bench.runtime), TTL, "life-" + i), bench.waiter(waiter)));
            bench.watch.add(waiter, List.of(name("x" + i)), TTL, TTL);
        }
        bench.execute("COMMIT");
        assertThat(bench.wokenByALook()).isEmpty();
    }

    @Test
    void asManyAsAreAskedAfterInOneLookAreHeardOfInTheNext() throws SQLException {
        awaitHolders(MAX_IN_A_LOOK);
        for (int i = 0; i < MAX_IN_A_LOOK; i++) {
            bench.states.put("life-" + i, Lives.State.OVER);
            assertThat(bench.wokenByALook()).contains(name("x" + i));
        }
    }

    @Test
    void howeverManyHoldersThereAreEachIsAskedAfter() throws SQLException {
        int holders = 2 * MAX_IN_A_LOOK + 10;
        awaitHolders(holders);
        for (int i = 0; i < holders; i++) {
            bench.states.put("life-" + i, Lives.State.OVER);
            boolean woken = false;
            for (int looks = 0; looks < 6 && !woken; looks++) {
                bench.asked.clear();
                woken = bench.wokenByALook().contains(name("x" + i));
                assertThat(bench.asked.stream().distinct()).hasSizeLessThanOrEqualTo(MAX_IN_A_LOOK);
            }
            assertThat(woken).as("holder %d", i).isTrue();
        }
    }
}
