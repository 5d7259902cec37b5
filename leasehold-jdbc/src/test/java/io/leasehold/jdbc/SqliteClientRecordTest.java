package io.leasehold.jdbc;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class SqliteClientRecordTest implements ClientRecordTests {

    @TempDir
    private Path directory;

    private Path file() {
        return directory.resolve("locks.db");
    }

    @Override
    public String storeUri() {
        return "sqlite:" + file();
    }

    @Override
    public Connection administrator() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + file() + "?busy_timeout=20000");
    }
}
