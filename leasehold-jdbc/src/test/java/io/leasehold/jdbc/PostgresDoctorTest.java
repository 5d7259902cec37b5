package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Finding;
import io.leasehold.Finding.Grade;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the doctor says of a real PostgreSQL, before and after it was set up badly; and of SQLite. */
class PostgresDoctorTest {

    @TempDir
    private Path directory;

    private static Map<String, Finding> diagnosed(String uri) {
        try (LockClient locks = Leasehold.connect(uri)) {
            return locks.admin().diagnose().stream()
                    .collect(Collectors.toMap(Finding::check, finding -> finding, (one, other) -> one));
        }
    }

    @Test
    void gradesIsolationTimeAndDurability() throws Exception {
        try (PostgresServer server = PostgresServer.start(directory)) {
            configure(server, "fsync = on");
            Map<String, Finding> good = diagnosed(server.url());
            for (String check : new String[] {"isolation", "clock", "durability", "rights", "version"}) {
                assertThat(good.get(check).grade()).as(good.toString()).isEqualTo(Grade.GOOD);
            }
            configure(server, "default_transaction_isolation = 'repeatable read'");
            configure(server, "synchronous_commit = off");
            Map<String, Finding> bad = diagnosed(server.url());
            assertThat(bad.get("isolation").grade()).as(bad.toString()).isEqualTo(Grade.WARNING);
            assertThat(bad.get("durability").grade()).as(bad.toString()).isEqualTo(Grade.UNSAFE);
            assertThat(bad.get("durability").remedy()).contains("synchronous_commit = on");
        }
    }

    private static void configure(PostgresServer server, String setting) throws Exception {
        try (Connection connection = DriverManager.getConnection(server.url());
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER SYSTEM SET " + setting);
            statement.execute("SELECT pg_reload_conf()");
            String name = setting.substring(0, setting.indexOf(' '));
            String wanted = setting.substring(setting.indexOf('=') + 2).replace("'", "");
            // The reload reaches backends a moment later; new ones take their values from it.
            for (int tries = 0; tries < 600; tries++) {
                try (Connection fresh = DriverManager.getConnection(server.url());
                        Statement show = fresh.createStatement();
                        var rows = show.executeQuery("SHOW " + name)) {
                    if (rows.next() && rows.getString(1).equals(wanted)) {
                        return;
                    }
                }
                Thread.sleep(100);
            }
            throw new AssertionError(setting + " was not taken over");
        }
    }

    @Test
    void isSilentAboutSqlite() {
        Map<String, Finding> findings = diagnosed("sqlite:" + directory.resolve("locks.db"));
        assertThat(findings.get("isolation").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
        assertThat(findings.get("rights").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
    }
}
