package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a client that only looks creates no SQLite file, neither when it opens the store nor later. */
@Tag("quick")
class SqliteExistingTest {

    @TempDir
    private Path directory;

    private static void assertNoStore(Path file, String options) {
        assertThatThrownBy(() -> ExistingStoreTests.existing("sqlite:" + file + options))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessage("there is no store at " + file + ": no lock was ever acquired there");
    }

    @Test
    void aMissingFileIsNotMade() throws IOException {
        Path missing = directory.resolve("no/such/locks.db");
        Path empty = Files.createFile(directory.resolve("empty.db"));
        for (Path file : new Path[] {missing, empty}) {
            assertNoStore(file, "?create=true");
        }
        assertThat(directory.resolve("no")).doesNotExist();
        assertThat(empty).isEmptyFile();
    }

    /** Another program has made it, or a first client was killed before it made the tables. */
    @Test
    void aDatabaseWithoutTablesStaysAsItIs() throws SQLException, IOException {
        Path file = directory.resolve("other.db");
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE t (a)");
            statement.execute("DROP TABLE t");
        }
        byte[] before = Files.readAllBytes(file);
        assertNoStore(file, "");
        assertThat(file).hasBinaryContent(before);
        assertThat(directory).isDirectoryContaining("glob:**.db").isDirectoryNotContaining("glob:**-wal");
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void aFileThatIsDeletedMeanwhileIsNotMadeAgain() throws IOException, InterruptedException {
        Path file = directory.resolve("locks.db");
        Leasehold.connect("sqlite:" + file).close();
        try (LockClient look = ExistingStoreTests.existing("sqlite:" + file)) {
            assertThat(look.admin().list("*", 9)).isEmpty();
            for (String suffix : new String[] {"", "-wal", "-shm"}) {
                Files.deleteIfExists(directory.resolve("locks.db" + suffix));
            }
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> look.admin().list("*", 9))
                        .isInstanceOf(StoreUnavailableException.class)
                        .hasMessageContaining("there is no store at " + file);
                assertThatThrownBy(() -> look.admin().forceRelease(LockName.of("job"), null))
                        .isInstanceOf(StoreUnavailableException.class);
                assertThat(file).doesNotExist();
            }
            try (LockClient ordinary = Leasehold.connect("sqlite:" + file);
                    Lease lease = ordinary.named("job").acquire()) {
                assertThat(look.admin().inspect(LockName.of("job"))).isPresent();
            }
        }
    }
}
