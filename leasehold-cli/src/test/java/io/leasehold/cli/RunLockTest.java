package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of how {@code run} waits for its lock, for how long it keeps it, and how it reports that. */
@Tag("full")
class RunLockTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    @Test
    void takesTheLockAgainRightAfterARunHasEnded() {
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
    }

    @Test
    void aBusyLockIsWaitedForSkippedOrReportedAsTold() {
        try (StartedCli holder = RunTest.holding(cli, directory, "job")) {
            StartedCli afterAWhile = cli.run("run", "-w", "200ms", "job", "--", "touch", "ran");
            StartedCli other = cli.run("run", "-n", "-E", "9", "job", "--", "touch", "ran");
            StartedCli skipped = cli.run("run", "-n", "--on-busy=skip", "job", "--", "touch", "ran");
            StartedCli silent = cli.run("run", "-n", "-q", "--on-busy=skip", "job", "--", "touch", "ran");

            assertThat(holder.isAlive()).isTrue();
            assertThat(afterAWhile.exitCode()).isEqualTo(75);
            assertThat(afterAWhile.errLines()).hasSize(1);
            assertThat(other.exitCode()).isEqualTo(9);
            assertThat(skipped.exitCode()).isZero();
            assertThat(skipped.errLines()).singleElement().asString().endsWith("skipped");
            assertThat(silent.exitCode()).isZero();
            assertThat(silent.err()).isEmpty();
            assertThat(directory.resolve("ran")).doesNotExist();
        }
    }

    @Test
    void waitsWithoutLimitUnlessTold() {
        Path go = directory.resolve("go");
        try (StartedCli holder = cli.start(
                        "run",
                        "job",
                        "--",
                        "sh",
                        "-c",
                        "touch held; while [ ! -e '" + go + "' ]; do sleep 0.05; done");
                StartedCli waiter = afterItExists("held", () -> cli.start("run", "job", "--", "echo", "at last"))) {
            Await.until("the waiter to be seen waiting", () -> waiter.isAlive() && holder.isAlive());
            assertThat(waiter.out()).isEmpty();

            StartedCli.shell("touch '" + go + "'");

            assertThat(holder.exitCode()).isZero();
            assertThat(waiter.exitCode()).isZero();
            assertThat(waiter.out()).isEqualTo("at last\n");
        }
    }

    @Test
    void refusesToWaitForItself() {
        String program = String.join(" ", StartedCli.javaCommand()) + " run ";
        StartedCli outer =
                cli.run("run", "job", "--", "sh", "-c", program + "other -- " + program + "job -- touch ran");

        assertThat(outer.exitCode()).as(outer::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(outer.errLines())
                .singleElement()
                .asString()
                .contains("this run is inside a run that holds lock \"job\"");
        assertThat(directory.resolve("ran")).doesNotExist();
        assertThat(cli.run("run", "job", "--", "sh", "-c", program + "-n -E 9 job -- true")
                        .exitCode())
                .as("does not wait")
                .isEqualTo(9);
    }

    @Test
    void keepsTheLockAtLeastAsLongAsAsked() {
        long startedAtNanos = System.nanoTime();
        StartedCli run = cli.run("run", "--at-least=1.5s", "--json", "job", "--", "true");

        assertThat(run.exitCode()).isZero();
        assertThat(System.nanoTime() - startedAtNanos).isGreaterThan(1_500_000_000L);
        assertThat(run.err()).containsPattern("\"heldMs\":(1[5-9]|[2-9][0-9])[0-9]{2}");
    }

    @Test
    void keepsNothingThatWasTakenAway() {
        try (StartedCli run = cli.start("run", "--at-least=1h", "job", "--", "touch", "ran")) {
            Await.until(run::err, () -> Files.exists(directory.resolve("ran")));
            Await.until(
                    run::err,
                    () -> cli.ask("release", "job", "--force", "--yes").exitCode() == 0);
            Await.until(run::err, () -> !run.isAlive());

            assertThat(run.err()).contains("lost");
        }
    }

    @Test
    void reportsAsOneLineOfJson() {
        StartedCli done = cli.run("run", "--json", "job", "--", "sh", "-c", "exit 3");

        assertThat(done.errLines())
                .singleElement()
                .asString()
                .startsWith(
                        "{\"command\":\"run\",\"lock\":\"job\",\"outcome\":\"completed\",\"exitCode\":3,\"reason\":null,")
                .contains("\"commandExitCode\":3", "\"release\":\"RELEASED\"");
        try (StartedCli holder = RunTest.holding(cli, directory, "job")) {
            assertThat(holder.isAlive()).isTrue();
            assertThat(cli.run("run", "--json", "-n", "job", "--", "true").errLines())
                    .singleElement()
                    .asString()
                    .contains("\"outcome\":\"busy\"", "\"exitCode\":75", "\"busyHolder\":{\"id\":");
        }
    }

    private StartedCli afterItExists(String file, Supplier<StartedCli> start) {
        Await.until(file, () -> Files.exists(directory.resolve(file)));
        return start.get();
    }
}
