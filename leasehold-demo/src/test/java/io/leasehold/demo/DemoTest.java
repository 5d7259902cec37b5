package io.leasehold.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.cli.Await;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.StartedCli;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the demonstration as a user starts it: a process that starts a Redis and other processes, and cleans up. */
@Tag("full")
class DemoTest {

    @TempDir
    private Path directory;

    private Path temporary;
    private StartedCli.Setup cli;

    @BeforeEach
    void watchTheTemporaryFiles() throws IOException {
        temporary = Files.createDirectory(directory.resolve("tmp"));
        cli = new StartedCli.Setup(directory).with("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + temporary);
    }

    private static void needRedis() {
        try {
            RedisBinary.find();
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
        }
    }

    @Test
    void theLockHolds() {
        needRedis();
        try (StartedCli demo = cli.run("demo", "first", "--quick")) {
            assertThat(demo.exitCode()).as(demo.out() + demo.err()).isZero();
            assertThat(demo.out())
                    .contains("KILLED (SIGKILL) while it holds the lock")
                    .contains("TAKES OVER, token ")
                    .contains("the dead holder's lease had to end first")
                    .contains("two holders at once   never")
                    .contains("lost updates          0: ")
                    .contains("HELD: ")
                    .doesNotContain("\u001b");
        }
        assertNothingIsLeft();
    }

    @Test
    void withoutItWorkIsLost() {
        needRedis();
        try (StartedCli demo = cli.run("demo", "--without-lock", "--quick", "--workers", "3")) {
            assertThat(demo.exitCode()).as(demo.out() + demo.err()).isEqualTo(ExitCode.FOUND.code());
            assertThat(demo.out())
                    .contains("held at once, for ")
                    .contains("an update is lost")
                    .contains("VIOLATED, as it must be without a lock");
        }
        assertNothingIsLeft();
    }

    @Test
    void anInterruptedDemoLeavesNothingBehind() {
        needRedis();
        try (StartedCli demo = cli.start("demo", "--quick", "--workers=2")) {
            Await.until(
                    () -> "processes; stderr: " + demo.err(), () -> demo.out().contains("Processes: w1"));
            List<ProcessHandle> started = ProcessHandle.of(demo.pid()).stream()
                    .flatMap(ProcessHandle::descendants)
                    .toList();
            assertThat(started).hasSizeGreaterThanOrEqualTo(2);
            demo.signal("TERM");
            assertThat(demo.exitCode()).as(demo.out() + demo.err()).isEqualTo(ExitCode.SIGNAL_BASE + 15);
            Await.until("the end of all it started", () -> started.stream().noneMatch(ProcessHandle::isAlive));
        }
        assertNothingIsLeft();
    }

    @Test
    void wrongUseIsRefused() {
        assertRefused("--workers must be 2 to 8, not 9", "demo", "--workers=9");
        assertRefused("there is no scenario \"last\": there are first, pause, clock, restart,", "demo", "last");
        assertRefused("--workers is for the scenario first alone", "demo", "pause", "--workers=3");
        assertRefused("demo starts its own servers and takes no --store", "demo", "--store", "memory:");
    }

    @Test
    void theListIsOneScreen() {
        try (StartedCli demo = cli.run("demo", "--list")) {
            assertThat(demo.exitCode()).as(demo.err()).isZero();
            assertThat(demo.out().lines().map(line -> line.split(" ", -1)[0]))
                    .containsExactly("first", "pause", "clock", "restart", "failover", "redlock", "tokens", "broken");
            assertThat(demo.out().lines()).allMatch(line -> line.length() <= 80);
        }
    }

    private void assertRefused(String reason, String... arguments) {
        try (StartedCli demo = cli.run(arguments)) {
            assertThat(demo.exitCode()).as(demo.err()).isEqualTo(ExitCode.USAGE.code());
            assertThat(demo.err()).contains(reason);
        }
    }

    private void assertNothingIsLeft() {
        try (Stream<Path> files = Files.list(temporary)) {
            Optional<Path> left = files.filter(
                            file -> file.getFileName().toString().startsWith("leasehold-demo"))
                    .findAny();
            assertThat(left).isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
