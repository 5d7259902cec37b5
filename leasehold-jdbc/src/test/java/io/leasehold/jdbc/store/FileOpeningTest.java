package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.sqlite.SqliteFile;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.spi.LockRuntime;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * How long the store waits for a locked file, which files it accepts, and whether it is still the file that was opened.
 */
@Tag("quick")
@Timeout(60)
class FileOpeningTest {

    /** "LsHd". */
    private static final int APPLICATION_ID = 0x4C734864;

    @TempDir
    private Path directory;

    private final VirtualRuntime virtual = VirtualRuntime.seeded(1);
    private long nowNanos;
    private long stepNanos;
    private int pauses;
    private Pause whilePausing = () -> {};
    private Pause whileAwaiting = () -> {};

    private interface Pause {
        void run() throws SQLException, InterruptedException;
    }

    /** Each reading of the clock takes as long as the test says, and a pause takes no time. */
    private final LockRuntime runtime = (LockRuntime) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "nanoTime" -> {
                        nowNanos += stepNanos;
                        return nowNanos;
                    }
                    case "schedule" -> {
                        assertThat(arguments[0]).as("a pause").isEqualTo(5_000_000L);
                        pauses++;
                        whilePausing.run();
                        ((Runnable) arguments[1]).run();
                        return null;
                    }
                    case "await" -> {
                        whileAwaiting.run();
                        return null;
                    }
                    default -> {
                        try {
                            return method.invoke(virtual, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }
                }
            });

    private Path path() {
        return directory.resolve("locks.db");
    }

    private SqliteFile file() {
        Dialect dialect = SqliteDialect.dialect(true);
        SchemaCheck schema = new SchemaCheck(dialect, runtime, "boot", "the file");
        return new SqliteFile(path(), Synchronous.FULL, existing -> "ext4", dialect, schema, "boot:1", runtime);
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + path());
    }

    private static void execute(Connection connection, String... all) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : all) {
                statement.execute(sql);
            }
        }
    }

    @Test
    void aFileThatIsLockedIsWaitedForInShortPausesForFiveSeconds() throws Exception {
        try (Connection other = connect()) {
            execute(other, "BEGIN EXCLUSIVE");
            stepNanos = Duration.ofMillis(1_250).toNanos();
            assertThatThrownBy(() -> file().open())
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageContaining("stayed locked by another process");
            assertThat(pauses).as("five seconds are not yet too long").isEqualTo(4);
            whilePausing = () -> {
                if (pauses == 6) {
                    execute(other, "COMMIT");
                }
            };
            LeaseTable table = file().open();
            assertThat(pauses).isEqualTo(6);
            table.discard();
        }
    }

    @Test
    void whatDoesNotPassIsToldAtOnce() throws IOException {
        Files.writeString(
                path(), "no database at all, but some text that is long enough to be taken for one".repeat(9));
        assertThatThrownBy(() -> file().open())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("is damaged or not an SQLite database");
        assertThat(pauses).isZero();
    }

    /** For example if the system has no descriptor left: a missing file may come back, but this error is permanent. */
    @Test
    void whatCannotBeOpenedThoughItIsThereIsToldAtOnce() throws Exception {
        file().open().discard();
        Files.createDirectory(directory.resolve("locks.db-wal"));
        assertThatThrownBy(() -> file().open())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cannot be opened");
        assertThat(pauses).isZero();
    }

    @Test
    void whoOpensAFileKnowsThatClientsCanTellOfThemselvesThere() throws Exception {
        Dialect dialect = SqliteDialect.dialect(true);
        SchemaCheck schema = new SchemaCheck(dialect, runtime, "boot", "the file");
        SqliteFile file =
                new SqliteFile(path(), Synchronous.FULL, existing -> "ext4", dialect, schema, "boot:1", runtime);
        assertThat(schema.keepsClients()).isFalse();
        file.open().discard();
        assertThat(schema.keepsClients()).isTrue();
    }

    /** The holder of the write lock may be stopped. */
    @Test
    void aFileThatIsThereIsOpenedBesideOneWhoWrites() throws Exception {
        file().open().discard();
        try (Connection other = connect()) {
            execute(other, "BEGIN IMMEDIATE");
            file().open().discard();
        }
        assertThat(pauses).isZero();
    }

    @Test
    void anInterruptEndsTheWaitAndIsKept() throws Exception {
        try (Connection other = connect()) {
            execute(other, "BEGIN EXCLUSIVE");
            whileAwaiting = () -> {
                throw new InterruptedException();
            };
            assertThatThrownBy(() -> file().open())
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessage("interrupted while opening the lock file " + path());
            assertThat(Thread.interrupted()).isTrue();
            assertThat(pauses).isEqualTo(1);
        }
    }

    @Test
    void aDatabaseOfSomethingElseIsRefusedAndAnEmptyOneIsTaken() throws SQLException {
        try (Connection other = connect()) {
            execute(other, "CREATE TABLE orders (id)");
            assertThatThrownBy(() -> file().open())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("is an SQLite database of another application (application id 0)");
            execute(other, "DROP TABLE orders", "PRAGMA application_id=77");
        }
        file().open().discard();
        try (Connection other = connect();
                Statement statement = other.createStatement();
                var id = statement.executeQuery("PRAGMA application_id")) {
            assertThat(id.next()).isTrue();
            assertThat(id.getInt(1)).isEqualTo(APPLICATION_ID);
        }
    }

    @Test
    void itIsKnownWhetherTheFileIsStillTheOneThatWasOpened() throws Exception {
        SqliteFile file = file();
        assertThat(file.leadsToStore()).as("none was").isTrue();
        LeaseTable table = file.open();
        assertThat(file.leadsToStore()).isTrue();
        Path moved = directory.resolve("moved.db");
        Files.move(path(), moved);
        assertThat(file.leadsToStore()).isFalse();
        Files.createFile(path());
        assertThat(file.leadsToStore()).as("another one in its place").isFalse();
        Files.delete(path());
        Files.move(moved, path());
        assertThat(file.leadsToStore()).isTrue();
        table.discard();
        Lives life = file.beginLife();
        assertThat(life.own()).isNotNull();
        life.close();
    }

    @Test
    void allThatWasOpenedIsOfOneLifeAndNothingStaysOpenOfWhatWasRefused() throws Exception {
        LeaseTable first = file().open();
        LeaseTable second = file().open();
        assertThat(first.incarnation()).isEqualTo(second.incarnation());
        first.discard();
        second.discard();
        try (Connection other = connect()) {
            execute(other, "UPDATE leasehold_store SET schema_version = 9");
        }
        assertThatThrownBy(() -> file().open()).isInstanceOf(UnsafeStoreException.class);
        assertThat(openFiles()).isZero();
    }

    private long openFiles() throws IOException {
        try (var descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            long count = 0;
            for (Path one : descriptors) {
                if (Files.exists(one) && Files.isSameFile(one, path())) {
                    count++;
                }
            }
            return count;
        }
    }
}
