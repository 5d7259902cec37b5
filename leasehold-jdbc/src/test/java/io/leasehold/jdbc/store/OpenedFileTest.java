package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.sqlite.FileSystems;
import io.leasehold.jdbc.sqlite.SqliteFile;
import io.leasehold.jdbc.sqlite.Synchronous;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The settings of a connection to a file, on which the effect of a loss of power depends. */
@Tag("quick")
class OpenedFileTest {

    private final SystemLockRuntime runtime = new SystemLockRuntime();

    @TempDir
    private Path directory;

    @AfterEach
    void close() {
        runtime.close();
    }

    private LeaseTable open(Synchronous synchronous, String boot) throws SQLException {
        Dialect dialect = SqliteDialect.dialect(synchronous == Synchronous.FULL);
        SchemaCheck schema = new SchemaCheck(dialect, runtime, "boot", "the file");
        return new SqliteFile(
                        directory.resolve("t.db"), synchronous, FileSystems.real(), dialect, schema, boot, runtime)
                .open();
    }

    @Test
    void commitsWaitForTheDiskWhereThatWasAskedForAndNobodyWaitsLongForALock() throws SQLException {
        LeaseTable normal = open(Synchronous.NORMAL, "boot:1");
        assertThat(normal.number("PRAGMA synchronous")).as("NORMAL").isEqualTo(1);
        assertThat(normal.number("PRAGMA busy_timeout")).isEqualTo(10);
        assertThat(normal.number("SELECT COUNT(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"))
                .isEqualTo(1);
        LeaseTable full = open(Synchronous.FULL, "boot:1");
        assertThat(full.number("PRAGMA synchronous")).as("FULL").isEqualTo(2);
        assertThat(full.incarnation()).isEqualTo(normal.incarnation());
        normal.discard();
        full.discard();
    }

    @Test
    void theFirstOfABootLiftsTheFloorToTheHorizonOfTheBootBefore() throws SQLException {
        LeaseTable before = open(Synchronous.NORMAL, "boot:1");
        before.raiseHorizon(1_000, 500);
        before.raiseFenceFloor(7);
        before.discard();
        LeaseTable same = open(Synchronous.NORMAL, "boot:1");
        assertThat(same.fenceFloor()).as("of the same boot").isEqualTo(7);
        same.discard();
        LeaseTable after = open(Synchronous.NORMAL, "boot:2");
        assertThat(after.fenceFloor()).isEqualTo(1_500);
        after.raiseFenceFloor(9_000);
        after.discard();
        LeaseTable later = open(Synchronous.NORMAL, "boot:3");
        assertThat(later.fenceFloor()).as("never lower").isEqualTo(9_000);
        later.discard();
    }

    /** For example on a full disk: SQLite may have rolled back by itself, and its error then is not the reason. */
    @Test
    void whyTheTablesCannotBeMadeIsSaidAlsoWhereTheirTransactionIsOver() {
        Dialect of = SqliteDialect.dialect(true);
        Dialect.Store store = of.store();
        Dialect undone = new Dialect(
                of.database(),
                of.driver(),
                of.clock(),
                of.transaction(),
                of.leases(),
                new Dialect.Store(
                        store.version(),
                        List.of("ROLLBACK", "this cannot be made"),
                        store.describe(),
                        store.read(),
                        store.floor(),
                        store.lockFloor(),
                        store.raiseFloor(),
                        store.distinct()),
                of.clients(),
                of.waking(),
                of.horizon(),
                of.tuning(),
                of.connecting(),
                of.troubles(),
                of.scope());
        SchemaCheck schema = new SchemaCheck(undone, runtime, "boot", "the file");
        SqliteFile file = new SqliteFile(
                directory.resolve("t.db"), Synchronous.FULL, FileSystems.real(), undone, schema, "boot:1", runtime);
        assertThatThrownBy(file::open)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("syntax error")
                .satisfies(e -> assertThat(e.getCause().getSuppressed()).hasSize(1));
    }
}
