package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of databases as stores of the command line: PostgreSQL with the bundled driver, the others with an added one.
 */
@Tag("full")
class DatabaseStoresTest {

    @TempDir
    private Path directory;

    @Test
    void postgresWorksAsItComes() throws IOException {
        try (EmbeddedPostgres server = TestServers.postgres(directory)) {
            StartedCli.Setup cli = new StartedCli.Setup(directory)
                    .with("LEASEHOLD_STORE", server.getJdbcUrl("postgres", "postgres") + "&password=pssst");
            // Twice: the first look has not made what it missed.
            for (String verb : List.of("ls", "who job", "release job --force")) {
                StartedCli look = cli.run(verb.split(" "));
                assertThat(look.exitCode()).as(look::err).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
                assertThat(look.err())
                        .contains("there is no store at jdbc:postgresql:", "no lock was ever acquired there")
                        .doesNotContain("pssst");
            }
            StartedCli done = cli.run("run", "job", "--", "sh", "-c", "echo $LEASEHOLD_FENCING_TOKEN");
            assertThat(done.exitCode()).as(done::err).isZero();
            assertThat(Long.parseLong(done.out().strip())).isPositive();

            // With a ttl of an hour the next renewal would come after twenty minutes.
            try (StartedCli holder = cli.start("run", "--ttl=1h", "job", "--", "sleep", "3600")) {
                Await.until(
                        () -> "who holds it; stderr: " + holder.err(),
                        () -> cli.run("who", "job").out().contains("process   " + holder.pid() + " on "));
                StartedCli release = cli.run("release", "job", "--force", "--yes");
                assertThat(release.exitCode()).as(release::err).isZero();
                assertThat(release.out() + release.err()).doesNotContain("pssst");
                assertThat(holder.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
                assertThat(holder.err()).contains("FORCE_RELEASED").doesNotContain("pssst");
            }
            assertThat(cli.run("doctor").out()).contains("clients", "durability", "isolation");
        }
    }

    @Test
    void aDriverThatIsMissingIsNamedWithThePlaceForIt() {
        StartedCli.Setup cli = new StartedCli.Setup(directory)
                .of(withoutTheDriverOfOtherTests())
                .with("LEASEHOLD_STORE", "jdbc:mariadb://127.0.0.1:1/app?user=joe&password=pssst");
        StartedCli ls = cli.run("ls");
        assertThat(ls.exitCode()).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
        assertThat(ls.errLines())
                .singleElement()
                .satisfies(line -> assertThat(line)
                        .contains(
                                "no JDBC driver for MariaDB",
                                "org.mariadb.jdbc:mariadb-java-client",
                                "LEASEHOLD_CLASSPATH")
                        .doesNotContain("pssst"));
    }

    private static String withoutTheDriverOfOtherTests() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> !entry.contains("mariadb-java-client"))
                .collect(Collectors.joining(File.pathSeparator));
    }
}
