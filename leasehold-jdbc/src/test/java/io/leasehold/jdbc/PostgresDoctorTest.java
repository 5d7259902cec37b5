package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Finding;
import io.leasehold.Finding.Grade;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
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
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        assumeTrue(
                system.equals("Linux amd64"),
                "no PostgreSQL server for " + system + ": the archive is for Linux x86-64");
        try (EmbeddedPostgres server = EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(directory.resolve("binaries").toFile())
                .setLocaleConfig("locale", "C")
                .setServerConfig("fsync", "on")
                .setServerConfig("synchronous_commit", "on")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start()) {
            String url = server.getJdbcUrl("postgres", "postgres");
            Map<String, Finding> good = diagnosed(url);
            for (String check : new String[] {"isolation", "clock", "durability", "rights", "version"}) {
                assertThat(good.get(check).grade()).as(good.toString()).isEqualTo(Grade.GOOD);
            }
            try (Connection connection = DriverManager.getConnection(url);
                    Statement statement = connection.createStatement()) {
                statement.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'");
                statement.execute("ALTER DATABASE postgres SET synchronous_commit = off");
            }
            Map<String, Finding> bad = diagnosed(url);
            assertThat(bad.get("isolation").grade()).as(bad.toString()).isEqualTo(Grade.WARNING);
            assertThat(bad.get("durability").grade()).as(bad.toString()).isEqualTo(Grade.UNSAFE);
            assertThat(bad.get("durability").remedy()).contains("synchronous_commit = on");
        }
    }

    @Test
    void isSilentAboutSqlite() {
        Map<String, Finding> findings = diagnosed("sqlite:" + directory.resolve("locks.db"));
        assertThat(findings.get("isolation").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
        assertThat(findings.get("rights").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
    }
}
