package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisServer;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --read} on Redis, and of the operators' commands while readers hold a lock. */
@Tag("full")
class ReadersOnRedisTest {

    @TempDir
    private Path directory;

    private final RedisServer server = RedisServer.builder().start();
    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "redis://127.0.0.1:" + server.port());
    }

    @AfterEach
    void stop() {
        server.close();
    }

    @Test
    void readersShareTheLockAndKeepAWriterOut() {
        try (StartedCli one = ReadersTest.read(cli, directory, "one");
                StartedCli two = ReadersTest.read(cli, directory, "two")) {
            StartedCli writer = cli.run("run", "-n", "catalog", "--", "true");
            assertThat(writer.exitCode()).isEqualTo(75);
            assertThat(writer.err()).contains("lock \"catalog\" is busy: held by readers");
            Answer shown = cli.ask("show", "catalog");
            assertThat(shown.out())
                    .contains(
                            "holder    readers",
                            "readers   ",
                            ReadersTest.said(directory, "one"),
                            ReadersTest.said(directory, "two"));
            assertThat(cli.ask("who", "--id", "catalog").out())
                    .contains(ReadersTest.said(directory, "one"), ReadersTest.said(directory, "two"));
            assertThat(cli.ask("who", "catalog").out()).contains("read by others", "--holder readers");
            assertThat(cli.ask("show", "--json", "catalog").out()).contains("\"readers\":[{\"id\":\"");

            Answer release = cli.ask("release", "catalog", "--holder", ReadersTest.said(directory, "two"), "--yes");
            assertThat(release.exitCode()).as(release.err()).isZero();
            assertThat(two.exitCode()).as("its command ends").isEqualTo(76);
            assertThat(cli.run("run", "-n", "catalog", "--", "true").exitCode()).isEqualTo(75);
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(one.exitCode()).as(one::err).isZero();
        }
        assertThat(cli.run("run", "-n", "catalog", "--", "true").exitCode()).isZero();
        assertThat(cli.run("run", "--read", "--permit", "2", "catalog", "--", "true")
                        .exitCode())
                .isEqualTo(64);
    }

    @Test
    void anOperatorEndsAllReaders() {
        try (StartedCli one = ReadersTest.read(cli, directory, "one")) {
            Answer release = cli.ask("release", "catalog", "--holder", "readers", "--yes");
            assertThat(release.exitCode()).as(release.err()).isZero();
            assertThat(one.exitCode()).isEqualTo(76);
        }
    }

    /** Nor a reader: a writer that waits in between would wait for the outer run, and the nested one for the writer. */
    @Test
    void aRunInsideAReaderIsNoWriterOfItsLock() {
        try (StartedCli outer = ReadersTest.read(cli, directory, "outer")) {
            StartedCli.Setup inside = cli.with("LEASEHOLD_HOLDERS", ReadersTest.said(directory, "outer"));
            StartedCli writer = inside.run("run", "catalog", "--", "true");
            assertThat(writer.exitCode()).as(writer.err()).isEqualTo(64);
            assertThat(writer.err()).contains("this run is inside a run that holds lock \"catalog\"");
            StartedCli reader = inside.run("run", "--read", "catalog", "--", "true");
            assertThat(reader.exitCode()).as(reader.err()).isEqualTo(64);
            assertThat(reader.err()).contains("this run is inside a run that holds lock \"catalog\" for reading");
            assertThat(inside.run("run", "--read", "-n", "catalog", "--", "true")
                            .exitCode())
                    .as("it does not wait")
                    .isZero();
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(outer.exitCode()).as(outer::err).isZero();
        }
    }
}
