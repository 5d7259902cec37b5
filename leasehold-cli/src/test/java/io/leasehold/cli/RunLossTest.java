package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.servers.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that no process of a run survives its lease, whatever happens to the lease, the store or the program itself.
 *
 * <p>The command and a grandchild that has left its session write beats to files and ignore TERM. Another run that
 * waits for the same lock writes a beat when it has it. The last beat of the first run must come before the first one
 * of the second.
 */
@Tag("full")
class RunLossTest {

    private static final String BEATS = "trap '' TERM INT HUP\nwhile :; do date +%s%N >> \"$1\"; sleep 0.02; done";

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;
    private String store;
    private String command;

    @BeforeEach
    void useAStoreOfOurOwn() {
        store = "sqlite:" + directory.resolve("locks.db");
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
        String beats = StartedCli.script(directory, "beats", BEATS);
        command = StartedCli.script(
                directory, "command", "(setsid '" + beats + "' grandchild &)\nexec '" + beats + "' child");
    }

    private long[] beats(String name) {
        return StartedCli.read(directory.resolve(name))
                .lines()
                .filter(line -> line.length() == 19)
                .mapToLong(Long::parseLong)
                .toArray();
    }

    private void awaitBeats(StartedCli run, String... names) {
        for (String name : names) {
            Await.until(() -> "beats of " + name + "; stderr: " + run.err(), () -> beats(name).length > 3);
        }
    }

    /**
     * Triggers an event in a run of the command while another one waits; no process of the first may overlap with the
     * second.
     */
    private StartedCli overtake(List<String> options, Consumer<StartedCli> event) {
        String[] arguments = new String[options.size() + 4];
        arguments[0] = "run";
        for (int i = 0; i < options.size(); i++) {
            arguments[i + 1] = options.get(i);
        }
        System.arraycopy(new String[] {"job", "--", command}, 0, arguments, options.size() + 1, 3);
        try (StartedCli first = cli.start(arguments)) {
            awaitBeats(first, "child", "grandchild");
            try (StartedCli second = cli.start("run", "job", "--", "sh", "-c", "date +%s%N > second")) {
                event.accept(first);
                assertThat(second.exitCode()).as(second::err).isZero();
            }
            long[] second = beats("second");
            for (String name : List.of("child", "grandchild")) {
                long[] mine = beats(name);
                assertThat(mine[mine.length - 1]).as(name).isLessThan(second[0]);
            }
            StartedCli.shell("kill -s CONT " + first.pid());
            first.exitCode();
            return first;
        }
    }

    @Test
    void aKilledProgramTakesEverythingWithIt() {
        StartedCli run = overtake(List.of("--ttl=3s"), first -> first.signal("KILL"));

        assertThat(run.exitCode()).isEqualTo(137);
    }

    /**
     * If the program is killed, the command still has its grace, here three seconds. SQLite detects at once that the
     * program is dead. It gives the lock to a waiter only when no process of the command is left, and then long before
     * the ttl.
     */
    @Test
    void aCommandThatOutlivesTheProgramByItsGraceKeepsTheLock() {
        try (StartedCli first = cli.start("run", "--ttl=10m", "--grace=3s", "job", "--", command)) {
            awaitBeats(first, "child", "grandchild");
            try (LockClient waiting = Leasehold.connect(store)) {
                CompletableFuture<Lease> next = waiting.named("job").acquireAsync();
                first.signal("KILL");
                try (Lease lease = next.get(4, TimeUnit.MINUTES)) {
                    long[] before = Stream.of("child", "grandchild")
                            .mapToLong(name -> beats(name).length)
                            .toArray();
                    assertThat(lease.isValid()).isTrue();
                    assertNothingBeats(before);
                }
            } catch (InterruptedException | ExecutionException | TimeoutException e) {
                throw new AssertionError(e);
            }
            first.exitCode();
        }
    }

    /** A living command would write a beat every 20 ms. */
    private void assertNothingBeats(long[] before) {
        for (int i = 0; i < 50; i++) {
            StartedCli.shell("sleep 0.02");
            assertThat(beats("child").length).isEqualTo((int) before[0]);
            assertThat(beats("grandchild").length).isEqualTo((int) before[1]);
        }
    }

    @Test
    void aStoppedProgramCannotLetTheCommandOutliveTheLease() {
        StartedCli run = overtake(List.of("--ttl=3s"), first -> first.signal("STOP"));

        assertThat(run.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
        assertThat(run.errLines()).singleElement().asString().contains("\"job\"", "while the command ran");
    }

    /**
     * The store reports it at the next renewal, so this is the only loss that can be detected late: tokens cover it.
     */
    @Test
    void aForcedReleaseEndsTheCommandAtOnceWhenItIsHeardOf() {
        try (StartedCli run = cli.start("run", "--ttl=3s", "--json", "job", "--", command)) {
            awaitBeats(run, "child", "grandchild");
            try (LockClient locks = Leasehold.connect(store)) {
                assertThat(locks.admin().forceRelease(LockName.exactly("job"), null))
                        .isTrue();
            }

            assertThat(run.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
            assertThat(run.err()).contains("\"outcome\":\"lost\"").containsPattern("\"lossCause\":\"[A-Z_]+\"");
            int child = beats("child").length;
            int grandchild = beats("grandchild").length;
            assertThat(cli.run("run", "job", "--", "true").exitCode()).isZero();
            assertThat(beats("child")).hasSize(child);
            assertThat(beats("grandchild")).hasSize(grandchild);
        }
    }

    /** An operator has removed the lock and raised the fence, so the command may end in an orderly way. */
    @Test
    void aForcedReleaseAsksTheCommandToEnd() {
        String tidy = StartedCli.script(
                directory, "tidy", "trap 'touch tidied; exit 5' TERM\ntouch ready\nwhile :; do sleep 0.05; done");
        try (StartedCli run = cli.start("run", "--ttl=10m", "--json", "job", "--", tidy)) {
            Await.until(run::err, () -> Files.exists(directory.resolve("ready")));
            // Within the first second it would be notified only by the store, at its next renewal.
            Await.until(run::err, () -> cli.run("who", "job").out().contains("renewals"));
            assertThat(cli.run("release", "job", "--force", "--yes").exitCode()).isZero();

            assertThat(run.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
            assertThat(directory.resolve("tidied")).exists();
            assertThat(run.err())
                    .contains("\"outcome\":\"lost\"", "\"commandExitCode\":5", "\"lossCause\":\"FORCE_RELEASED\"");
        }
    }

    @Test
    void anUnreachableStoreEndsTheCommandInTime() {
        try (RedisServer redis = RedisServer.start()) {
            cli.with("LEASEHOLD_STORE", redis.uri());
            try (StartedCli run = cli.start("run", "--quiet", "--ttl=3s", "--grace=1s", "job", "--", command)) {
                awaitBeats(run, "child", "grandchild");
                redis.freeze();

                assertThat(run.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
                assertThat(run.errLines()).singleElement().asString().contains("the command was ended");
                int child = beats("child").length;
                int grandchild = beats("grandchild").length;
                redis.thaw();
                assertThat(cli.run("run", "job", "--", "true").exitCode()).isZero();
                assertThat(beats("child")).hasSize(child);
                assertThat(beats("grandchild")).hasSize(grandchild);
            }
        }
    }

    @Test
    void aCommandThatListensMayEndInGoodOrder() {
        String tidy = StartedCli.script(
                directory, "tidy", "trap 'touch tidied; exit 5' TERM\ntouch ready\nwhile :; do sleep 0.05; done");
        try (RedisServer redis = RedisServer.start()) {
            cli.with("LEASEHOLD_STORE", redis.uri());
            try (StartedCli run = cli.start("run", "--ttl=6s", "--grace=3s", "--json", "job", "--", tidy)) {
                Await.until(run::err, () -> Files.exists(directory.resolve("ready")));
                redis.kill();

                assertThat(run.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
                assertThat(directory.resolve("tidied")).exists();
                assertThat(run.err()).contains("\"outcome\":\"lost\"", "\"commandExitCode\":5");
            }
        }
    }

    @Test
    void ignoringALossLetsTheCommandGoOn() {
        try (RedisServer redis = RedisServer.start()) {
            cli.with("LEASEHOLD_STORE", redis.uri());
            String command = "touch ready; until [ -e forced ]; do sleep 0.05; done; sleep 4; exit 3";
            try (StartedCli run =
                    cli.start("run", "--quiet", "--ttl=3s", "--on-lost=ignore", "job", "--", "sh", "-c", command)) {
                Await.until(run::err, () -> Files.exists(directory.resolve("ready")));
                try (LockClient locks = Leasehold.connect(redis.uri())) {
                    assertThat(locks.admin().forceRelease(LockName.exactly("job"), null))
                            .isTrue();
                }
                StartedCli.shell("touch '" + directory.resolve("forced") + "'");

                assertThat(run.exitCode()).isEqualTo(ExitCode.LEASE_LOST.code());
                assertThat(run.errLines()).singleElement().asString().contains("--on-lost=ignore", "exit code: 3");
            }
        }
    }
}
