package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedWallClock;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The report of the doctor on a real PostgreSQL, before and after a bad configuration; and on SQLite. */
@Tag("full")
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
            assertThat(good.get("clients").grade()).as(good.toString()).isEqualTo(Grade.GOOD);
            assertThat(good.get("latency").grade()).as(good.toString()).isEqualTo(Grade.GOOD);
            gradesAClockThatIsAhead(url);
            gradesMissingRights(url);
            gradesLatency(server.getPort());
        }
    }

    private static void execute(String url, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static void gradesAClockThatIsAhead(String url) {
        SteppedWallClock behind = new SteppedWallClock(new SystemLockRuntime());
        behind.step(Duration.ofHours(-1));
        try (LeaseClient client =
                LeaseClient.open(behind, runtime -> new JdbcStoreProvider().open(StoreUri.parse(url), runtime))) {
            assertThat(client.store.operations().diagnose().join())
                    .filteredOn(finding -> finding.check().equals("clock"))
                    .singleElement()
                    .satisfies(finding -> {
                        assertThat(finding.grade()).isEqualTo(Grade.WARNING);
                        assertThat(finding.reason()).contains("ahead of ours");
                    });
        }
    }

    private static void gradesMissingRights(String url) throws SQLException {
        execute(
                url,
                "CREATE ROLE joe LOGIN",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_store, leasehold_lock TO joe");
        String joe = url.replace("user=postgres", "user=joe");
        Map<String, Finding> silent = diagnosed(joe);
        assertThat(silent.get("rights").grade()).as(silent.toString()).isEqualTo(Grade.GOOD);
        assertThat(silent.get("clients").grade()).as(silent.toString()).isEqualTo(Grade.WARNING);
        assertThat(silent.get("clients").remedy()).contains("CREATE TABLE", "leasehold_client", "GRANT SELECT");
        execute(url, "REVOKE UPDATE ON leasehold_lock FROM joe");
        Map<String, Finding> powerless = diagnosed(joe);
        assertThat(powerless.get("rights").grade()).as(powerless.toString()).isEqualTo(Grade.UNSAFE);
    }

    /** Simulates a distant server: each round trip takes 80 ms. */
    private static void gradesLatency(int port) throws IOException {
        try (TcpProxy proxy = TcpProxy.to(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))) {
            proxy.delay(Duration.ofMillis(40));
            String url = "jdbc:postgresql://127.0.0.1:" + proxy.port() + "/postgres?user=postgres";
            try (LockClient locks = Leasehold.builder()
                    .store(url)
                    .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(2)))
                    .connect()) {
                assertThat(locks.admin().diagnose())
                        .filteredOn(finding -> finding.check().equals("latency"))
                        .singleElement()
                        .satisfies(finding -> {
                            assertThat(finding.grade()).as(finding.reason()).isEqualTo(Grade.WARNING);
                            assertThat(finding.remedy()).contains("ttl of at least");
                        });
            }
        }
    }

    @Test
    void isSilentAboutSqlite() {
        Map<String, Finding> findings = diagnosed("sqlite:" + directory.resolve("locks.db"));
        assertThat(findings.get("isolation").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
        assertThat(findings.get("rights").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
    }
}
