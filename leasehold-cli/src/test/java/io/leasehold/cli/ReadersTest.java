package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisServer;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --read}, and of the operators' commands while readers hold a lock. */
@Tag("quick")
class ReadersTest {

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

    /** Starts a run that reads until the file {@code end} exists; returns once its command runs. */
    private StartedCli read(String file) {
        StartedCli run = cli.start(
                "run",
                "--read",
                "catalog",
                "--",
                "sh",
                "-c",
                "echo \"$LEASEHOLD_HOLDER\" > told" + file + " && mv told" + file + " " + file
                        + "; until [ -e end ]; do sleep 0.1; done");
        Await.until(() -> "the command; stderr: " + run.err(), () -> !said(file).isEmpty());
        return run;
    }

    private String said(String file) {
        return StartedCli.read(directory.resolve(file)).strip();
    }

    @Test
    void readersShareTheLockAndKeepAWriterOut() {
        try (StartedCli one = read("one");
                StartedCli two = read("two")) {
            StartedCli writer = cli.run("run", "-n", "catalog", "--", "true");
            assertThat(writer.exitCode()).isEqualTo(75);
            assertThat(writer.err()).contains("lock \"catalog\" is busy: held by readers");
            Answer shown = cli.ask("show", "catalog");
            assertThat(shown.out()).contains("holder    readers", "readers   ", said("one"), said("two"));
            assertThat(cli.ask("who", "--id", "catalog").out()).contains(said("one"), said("two"));
            assertThat(cli.ask("who", "catalog").out()).contains("read by others", "--holder readers");
            assertThat(cli.ask("show", "--json", "catalog").out()).contains("\"readers\":[{\"id\":\"");

            Answer release = cli.ask("release", "catalog", "--holder", said("two"), "--yes");
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
        try (StartedCli one = read("one")) {
            Answer release = cli.ask("release", "catalog", "--holder", "readers", "--yes");
            assertThat(release.exitCode()).as(release.err()).isZero();
            assertThat(one.exitCode()).isEqualTo(76);
        }
    }

    @Test
    void aRunInsideAReaderIsNoWriterOfItsLock() {
        try (StartedCli outer = read("outer")) {
            StartedCli nested = cli.with("LEASEHOLD_HOLDERS", said("outer")).run("run", "catalog", "--", "true");
            assertThat(nested.exitCode()).as(nested.err()).isEqualTo(64);
            assertThat(nested.err()).contains("this run is inside a run that holds lock \"catalog\"");
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(outer.exitCode()).as(outer::err).isZero();
        }
    }

    @Test
    void readersShareALockInAFile() {
        StartedCli.Setup file = cli.with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        try (StartedCli one = read("one");
                StartedCli two = read("two")) {
            assertThat(file.run("run", "-n", "catalog", "--", "true").exitCode())
                    .isEqualTo(75);
            assertThat(file.ask("who", "--id", "catalog").out()).contains(said("one"), said("two"));
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(one.exitCode()).as(one::err).isZero();
            assertThat(two.exitCode()).as(two::err).isZero();
        }
        assertThat(file.run("run", "-n", "catalog", "--", "true").exitCode()).isZero();
    }
}
