package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that a look makes neither tables nor a database of H2. */
@Tag("quick")
class H2ExistingTest implements ExistingStoreTests {

    @TempDir
    private Path directory;

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID();
    private Connection keepsTheDatabase;

    @BeforeEach
    void open() throws SQLException {
        keepsTheDatabase = DriverManager.getConnection(url);
    }

    @AfterEach
    void close() throws SQLException {
        keepsTheDatabase.close();
    }

    @Override
    public String url() {
        return url;
    }

    @Test
    void aMissingFileIsNotMade() {
        String file = "jdbc:h2:file:" + directory.resolve("h2");
        for (String missing : new String[] {file, file + ";IFEXISTS=FALSE", file + ";ifexists=true"}) {
            ExistingStoreTests.assertNoStore(missing);
        }
        assertThat(directory).isEmptyDirectory();
        Leasehold.connect(file).close();
        try (LockClient look = ExistingStoreTests.existing(file + ";IFEXISTS=FALSE")) {
            assertThat(look.admin().list("*", 9)).isEmpty();
        }
    }

    @Test
    void aMissingDatabaseInMemoryIsNotMade() {
        ExistingStoreTests.assertNoStore("jdbc:h2:mem:" + UUID.randomUUID());
    }
}
