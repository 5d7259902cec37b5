package io.leasehold.jdbc;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The password of a user of MariaDB changes. */
@Tag("full")
final class MariaDbCredentialsTest implements CredentialsTests {

    @TempDir
    private static Path directory;

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        server = MariaDbServer.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public String uri() {
        return server.url().replaceFirst("\\?.*", "");
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.MARIADB;
    }

    @Override
    public void setPassword(String password) throws SQLException {
        try (Connection admin = server.connect();
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE USER IF NOT EXISTS app@'%'");
            statement.execute("GRANT ALL ON app.* TO app@'%'");
            statement.execute("ALTER USER app@'%' IDENTIFIED BY '" + password + "'");
            List<Long> sessions = new ArrayList<>();
            try (ResultSet found =
                    statement.executeQuery("SELECT id FROM information_schema.processlist WHERE user = 'app'")) {
                while (found.next()) {
                    sessions.add(found.getLong(1));
                }
            }
            for (long session : sessions) {
                statement.execute("KILL CONNECTION " + session);
            }
        }
    }
}
