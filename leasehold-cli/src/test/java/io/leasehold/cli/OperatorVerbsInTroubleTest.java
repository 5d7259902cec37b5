package io.leasehold.cli;

import static io.leasehold.cli.OperatorVerbsTest.lines;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.cli.OperatorVerbsTest.Program;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the operator's verbs while the store becomes unreachable, or the displayed locks change. */
@Tag("full")
class OperatorVerbsInTroubleTest {

    private static final String STRANGER = "0123456789abcdef0123456789abcdef01234567:5:far/77/cafe";
    private static RedisServer server;

    @BeforeAll
    static void start() {
        server = RedisServer.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @BeforeEach
    void empty() {
        server.call("FLUSHALL");
    }

    @Test
    void locksAreListedThoughPermitsCannotBeRead() {
        server.call("SET", "lock:{held}", STRANGER, "PX", "600000");
        server.call("SET", "permits:{user}", "Ann");
        Program beside = new Program(server.uri());
        assertThat(beside.run("ls")).isZero();
        assertThat(beside.out()).contains("far/77/cafe");
        assertThat(beside.err()).as("another program's key is no permit").isEmpty();
        try (RedisServer without =
                RedisServer.builder().config("rename-command HGETALL \"\"").start()) {
            without.call("SET", "lock:{held}", STRANGER, "PX", "600000");
            without.call("HSET", "permits:{pool}", "count", "2 2");
            Program program = new Program(without.uri());
            assertThat(program.run("ls")).isZero();
            assertThat(program.out()).contains("far/77/cafe");
            assertThat(program.err().lines()).hasSize(1).first().asString().contains("permits are not listed");
            assertThat(new Program(without.uri()).run("ls", "--permits")).isNotZero();
        }
    }

    @Test
    void namesOfPermitsBeyondTheLimitAreCounted() {
        for (String name : new String[] {"a", "b"}) {
            server.call("HSET", "permits:{" + name + "}", "count", "2 2", "fence", "7");
            server.call("HSET", "permits:{" + name + "}", "0", "a".repeat(40) + ":7:9000000000000000:far/77/cafe");
        }
        Program cut = new Program(server.uri());
        assertThat(cut.run("ls", "--permits", "--limit", "1")).isZero();
        assertThat(cut.out().lines()).hasSize(2);
        assertThat(cut.err()).contains("permits of more than 1 names: raise --limit");
        Program both = new Program(server.uri());
        assertThat(both.run("ls", "--permits", "--limit", "2")).isZero();
        assertThat(both.out().lines()).hasSize(3);
        assertThat(both.err()).isEmpty();
    }

    /** The change comes between the reading and the release, which compares the holder at the store. */
    @Test
    void releaseTakesNothingFromTheNextHolder() throws Exception {
        String other = STRANGER.replace("far/77/cafe", "far/78/cafe");
        server.call("SET", "lock:{swaps}", STRANGER, "PX", "600000");
        AtomicBoolean ended = new AtomicBoolean();
        Thread swapping = new Thread(
                () -> {
                    for (int i = 0; !ended.get(); i++) {
                        server.call("SET", "lock:{swaps}", i % 2 == 0 ? other : STRANGER, "PX", "600000");
                    }
                },
                "swaps");
        swapping.start();
        try {
            Await.until("a release that comes too late", () -> {
                Program program = new Program(server.uri());
                program.run("release", "swaps", "--force", "--yes", "--json");
                return program.out().contains("\"outcome\":\"changed-hands\"");
            });
        } finally {
            ended.set(true);
            swapping.join();
        }
    }

    private Program through(TcpProxy proxy) {
        return new Program("redis://127.0.0.1:" + proxy.port());
    }

    /** The number of reads of an existing key. */
    private static long looks() {
        return server.call("INFO", "stats")
                .lines()
                .filter(line -> line.startsWith("keyspace_hits:"))
                .mapToLong(line ->
                        Long.parseLong(line.substring(line.indexOf(':') + 1).strip()))
                .sum();
    }

    private static void awaitLooks(Program program, int more) {
        long before = looks();
        Await.until(program::err, () -> looks() >= before + more);
    }

    @Test
    void waitOutlivesEachOutageOfTheStoreAndTellsOfItOnce() throws Exception {
        server.call("SET", "lock:{deploy}", STRANGER, "PX", "600000");
        try (TcpProxy proxy = TcpProxy.to(server.port())) {
            Program program = through(proxy);
            CompletableFuture<Integer> code = program.start("wait", "deploy", "--json");
            for (int i = 1; i <= 2; i++) {
                int times = i;
                awaitLooks(program, 3);
                proxy.refuseConnections().resetAll();
                Await.until(program::err, () -> lines(program.err(), "; retrying") == times);
                proxy.acceptConnections();
                Await.until(program::err, () -> lines(program.err(), "the store answers again") == times);
            }
            awaitLooks(program, 3);
            server.call("DEL", "lock:{deploy}");
            assertThat(code.get(2, TimeUnit.MINUTES)).as(program.err()).isZero();
            assertThat(lines(program.err(), "the store answers again")).isEqualTo(2);
            assertThat(program.out()).contains("\"free\":true");
        }
    }

    @Test
    void waitThatEndsWhileTheStoreIsGoneSaysSo() throws Exception {
        server.call("SET", "lock:{deploy}", STRANGER, "PX", "600000");
        try (TcpProxy proxy = TcpProxy.to(server.port())) {
            // On a busy machine the time limit may pass before the first step.
            for (int seconds = 3; ; seconds *= 3) {
                Program program = through(proxy);
                long before = looks();
                CompletableFuture<Integer> code = program.start("wait", "deploy", "-w", seconds + "s");
                Await.until(program::err, () -> looks() > before || code.isDone());
                proxy.refuseConnections().resetAll();
                int exitCode = code.get(2, TimeUnit.MINUTES);
                proxy.acceptConnections();
                if (lines(program.err(), "; retrying") > 0) {
                    assertThat(exitCode).as(program.err()).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
                    return;
                }
            }
        }
    }

    /** The holder is the same, with another lease. */
    @Test
    void watchTellsALeaseThatFollowsOnOneOfTheSameHolder() throws Exception {
        Program program = new Program(server.uri());
        CompletableFuture<Integer> watching = program.start("watch", "job*", "--interval", "500ms");
        try (LockClient locks = Leasehold.connect(server.uri())) {
            Lease lease = locks.named("job:2").acquire();
            Await.until(program::out, () -> program.out().contains("+ job:2"));
            lease.release();
            try (Lease next = locks.named("job:2").acquire()) {
                Await.until(program::out, () -> lines(program.out(), "+ job:2") == 2);
                assertThat(program.out()).contains("token " + next.fencingToken());
            }
        }
        assertThat(watching).isNotDone();
    }

    @Test
    void runSaysThatItsReleaseWasNotConfirmed(@TempDir Path directory) throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port())) {
            StartedCli.Setup cli =
                    new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "redis://127.0.0.1:" + proxy.port());
            try (StartedCli run = cli.start(
                    "run", "--ttl=20s", "job", "--", "sh", "-c", "touch held; until [ -e end ]; do sleep 0.05; done")) {
                Await.until(run::err, () -> Files.exists(directory.resolve("held")));
                proxy.refuseConnections().resetAll();
                Files.createFile(directory.resolve("end"));

                assertThat(run.exitCode()).as(run::err).isZero();
                assertThat(run.err()).contains("did not confirm the release; it is free within 20s");
            }
        }
    }
}
