package io.leasehold.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.cli.Await;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.StartedCli;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs each hazard as a user starts it: with protection nothing is lost, and without it the verdict names the loss. */
@Tag("full")
class DemoScenariosTest {

    @TempDir
    private Path directory;

    private Path temporary;
    private StartedCli.Setup cli;

    @BeforeAll
    static void needRedis() {
        try {
            RedisBinary.find();
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
        }
    }

    @BeforeEach
    void watchTheTemporaryFiles() throws IOException {
        temporary = Files.createDirectory(directory.resolve("tmp"));
        cli = new StartedCli.Setup(directory).with("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + temporary);
    }

    /** Runs both at the same time, since each mostly waits. Returns the outputs with and without protection. */
    private List<String> play(String scenario) {
        try (StartedCli naive = cli.start("demo", scenario, "--quick", "--naive");
                StartedCli ours = cli.start("demo", scenario, "--quick")) {
            assertThat(ours.exitCode()).as(ours.out() + ours.err()).isZero();
            assertThat(naive.exitCode()).as(naive.out() + naive.err()).isEqualTo(ExitCode.FOUND.code());
            assertThat(ours.out()).contains("HELD").doesNotContain("VIOLATED");
            assertThat(naive.out()).contains("VIOLATED").doesNotContain("HELD");
            assertNothingIsLeft();
            return List.of(ours.out(), naive.out());
        }
    }

    private void assertNothingIsLeft() {
        try (Stream<Path> files = Files.list(temporary)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .noneMatch(name -> name.startsWith("leasehold-demo"));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void pause() {
        List<String> said = play("pause");
        assertThat(said.get(0))
                .contains("w1 wants to write, and the counter refuses its stale token")
                .contains("lost updates          0: 1 increments, and the number is 1")
                .contains("stale tokens refused by the counter once")
                .contains("told of the end of its lease: w1: ");
        assertThat(said.get(1))
                .contains("the work of w2 is lost")
                .contains("two holders at once   never, in 2 turns")
                .contains("lost updates          1: 2 increments, and the number is 1");
    }

    @Test
    void clock() {
        List<String> said = play("clock");
        assertThat(said.get(0))
                .contains("the clock of node 2 JUMPS")
                .contains("w2 does not get the lock: ")
                .contains("two holders at once   never");
        assertThat(said.get(1)).contains("two holders at once   1 pair").contains("lost updates          1: ");
    }

    @Test
    void clockWhereNoneCanBeMoved() {
        cli.with("PATH", directory.toString());
        try (StartedCli demo = cli.run("demo", "clock", "--quick")) {
            assertThat(demo.exitCode()).as(demo.out() + demo.err()).isZero();
            assertThat(demo.out())
                    .contains("No clock can be moved here (")
                    .contains("instead of the clock, they are moved by the jump")
                    .contains("w1 renews, and brings the lock to node 3")
                    .contains("w2 does not get the lock: ")
                    .contains("HELD: ");
        }
    }

    @Test
    void restart() {
        List<String> said = play("restart");
        assertThat(said.get(0))
                .contains("w2 does not get the lock: ")
                .contains("w1 learns that its lease has ended")
                .contains("w1 stops, and writes nothing")
                .contains("two holders at once   never, in 2 turns");
        assertThat(said.get(1)).contains("two holders at once   1 pair").contains("lost updates          1: ");
    }

    @Test
    void failover() {
        List<String> said = play("failover");
        assertThat(said.get(0))
                .contains("w1 learns that its lease has ended: ")
                .contains("lost updates          0: ")
                .contains("promises no exclusion over a fail-over");
        assertThat(said.get(1)).contains("the work of w2 is lost").contains("lost updates          1: ");
    }

    @Test
    void redlock() {
        List<String> said = play("redlock");
        assertThat(said.get(0))
                .contains("nodes 4 and 5 are FROZEN")
                .contains("two holders at once   never, in 63 turns")
                .contains("each larger than all before, 63 of them")
                .contains("lost updates          0: 63 increments, and the number is 63")
                .doesNotContain("told of the end");
        assertThat(said.get(1)).contains("3 pairs").contains("lost updates          2: ");
    }

    @Test
    void tokens() {
        List<String> said = play("tokens");
        assertThat(said.get(0)).contains("each larger than all before, 2 of them");
        assertThat(said.get(1))
                .contains("fencing tokens        out of order once")
                .contains("w2 got token 2 after 4")
                .contains("w2 is the rightful holder; a stale w1 would be let in");
    }

    @Test
    void broken() {
        List<String> said = play("broken");
        assertThat(said.get(0).lines().filter(line -> line.contains("Leasehold, same place   held")))
                .hasSize(5);
        assertThat(said)
                .allSatisfy(out -> assertThat(out)
                        .containsPattern("✗ +SETNX, then EXPIRE +w2 is locked out forever")
                        .containsPattern("✗ +GET, then SET +w2 and w1 held at once, for .*; lost updates: 1")
                        .containsPattern("✗ +one value for all +w2 and w3 held at once, for .*; lost updates: 1")
                        .containsPattern("✗ +DEL without comparing +w2 and w3 held at once, for .*; lost updates: 1")
                        .containsPattern("✗ +GET, then DEL +w2 and w3 held at once, for .*; lost updates: 1"));
    }

    @Test
    void aStoppedProcessDoesNotOutliveAKilledDemo() {
        try (StartedCli demo = cli.start("demo", "pause", "--quick")) {
            Await.until(
                    () -> "a stopped holder; " + demo.out() + demo.err(),
                    () -> demo.out().contains("is STOPPED (SIGSTOP)"));
            List<ProcessHandle> started = ProcessHandle.of(demo.pid()).stream()
                    .flatMap(ProcessHandle::descendants)
                    .toList();
            assertThat(started).hasSizeGreaterThanOrEqualTo(3);
            demo.signal("KILL");
            Await.until("the end of all it started", () -> started.stream().noneMatch(ProcessHandle::isAlive));
        }
    }
}
