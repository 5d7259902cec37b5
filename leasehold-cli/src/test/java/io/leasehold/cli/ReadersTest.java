package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of {@code run --read} on a lock in a file; {@link ReadersOnRedisTest} has the rest. */
@Tag("quick")
class ReadersTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    /** Starts a run that reads until the file {@code end} exists; returns once its command runs. */
    static StartedCli read(StartedCli.Setup cli, Path directory, String file) {
        StartedCli run = cli.start(
                "run",
                "--read",
                "catalog",
                "--",
                "sh",
                "-c",
                "echo \"$LEASEHOLD_HOLDER\" > told" + file + " && mv told" + file + " " + file
                        + "; until [ -e end ]; do sleep 0.1; done");
        Await.until(
                () -> "the command; stderr: " + run.err(),
                () -> !said(directory, file).isEmpty());
        return run;
    }

    /** What the command of that run has written. */
    static String said(Path directory, String file) {
        return StartedCli.read(directory.resolve(file)).strip();
    }

    @Test
    void readersShareALockAndKeepAWriterOut() {
        try (StartedCli one = read(cli, directory, "one");
                StartedCli two = read(cli, directory, "two")) {
            assertThat(cli.run("run", "-n", "catalog", "--", "true").exitCode()).isEqualTo(75);
            assertThat(cli.ask("who", "--id", "catalog").out())
                    .contains(said(directory, "one"), said(directory, "two"));
            StartedCli.shell("touch '" + directory.resolve("end") + "'");
            assertThat(one.exitCode()).as(one::err).isZero();
            assertThat(two.exitCode()).as(two::err).isZero();
        }
        assertThat(cli.run("run", "-n", "catalog", "--", "true").exitCode()).isZero();
    }
}
