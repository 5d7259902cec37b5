package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of the promises of {@code run} to scripts: exit codes, environment, arguments, one line for each reason. Each run
 * starts a JVM, so the rest is in {@link RunStreamsTest} and {@link RunLockTest}.
 */
@Tag("quick")
class RunTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    @Test
    void passesTheCommandsExitCodeOn() {
        StartedCli run = cli.run("run", "job", "--", "sh", "-c", "echo out; echo err >&2; exit 42");

        assertThat(run.exitCode()).isEqualTo(42);
        assertThat(run.out()).isEqualTo("out\n");
        assertThat(run.err()).isEqualTo("err\n");
    }

    @Test
    void exits127WhenThereIsNoSuchCommand() {
        StartedCli run = cli.run("run", "job", "--", "no-such-command-here");

        assertThat(run.exitCode()).isEqualTo(127);
        assertThat(run.errLines()).singleElement().asString().contains("no-such-command-here", "not found");
    }

    @Test
    void tellsTheCommandWhatItHolds() {
        StartedCli run = cli.run("run", "--ttl=20s", "size:1", "--", "env");

        assertThat(run.out().lines())
                .contains("LEASEHOLD_LOCK=size:1", "LEASEHOLD_TTL_MS=20000")
                .anyMatch(line -> line.matches("LEASEHOLD_FENCING_TOKEN=[1-9][0-9]*"))
                .anyMatch(line -> line.matches("LEASEHOLD_HOLDER=.+"))
                .anyMatch(line -> line.matches("LEASEHOLD_DEADLINE_EPOCH_MS=[1-9][0-9]{12}"));
    }

    @Test
    void keepsArgumentsAsTheyAre() {
        List<String> odd = List.of("a b", "", "@file", "--", "-n", "--help", "*", "'q'", "\"d\"", "x=y", "\\");
        String[] arguments = new String[6 + odd.size()];
        System.arraycopy(new String[] {"run", "job", "--", "printf", "[%s]\\n", "first"}, 0, arguments, 0, 6);
        for (int i = 0; i < odd.size(); i++) {
            arguments[6 + i] = odd.get(i);
        }

        StartedCli run = cli.run(arguments);

        assertThat(run.out().lines().skip(1).toList())
                .isEqualTo(odd.stream().map(argument -> "[" + argument + "]").toList());
    }

    @Test
    void exits75WhenTheLockIsBusy() {
        try (StartedCli holder = holding(cli, directory, "job")) {
            StartedCli run = cli.run("run", "-n", "job", "--", "touch", "ran");

            assertThat(run.exitCode()).isEqualTo(75);
            assertThat(run.errLines())
                    .singleElement()
                    .asString()
                    .startsWith("leasehold: lock \"job\" is busy: held by ")
                    .contains("/" + holder.pid() + "/");
            assertThat(directory.resolve("ran")).doesNotExist();
        }
    }

    @Test
    void endsWhatTheCommandLeftBehind() {
        StartedCli run = cli.run("run", "--ttl=3s", "job", "--", "sh", "-c", "sleep 300 & echo $! > left");

        assertThat(run.exitCode()).isZero();
        assertThat(run.errLines()).singleElement().asString().contains("left 1 process behind");
        assertThat(isAlive(StartedCli.read(directory.resolve("left")))).isFalse();
    }

    /** Starts a run that holds this lock until it is killed; returns once its command runs. */
    static StartedCli holding(StartedCli.Setup cli, Path directory, String lock) {
        StartedCli holder = cli.start("run", lock, "--", "sh", "-c", "touch held; exec sleep 300");
        Await.until(
                () -> "the lock to be held; stderr: " + holder.err(), () -> Files.exists(directory.resolve("held")));
        return holder;
    }

    static boolean isAlive(String pid) {
        return !StartedCli.shell("ps -o stat= -p " + pid.strip() + " | grep -v Z")
                .isBlank();
    }
}
