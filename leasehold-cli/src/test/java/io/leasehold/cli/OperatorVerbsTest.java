package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.output.Terminal;
import io.leasehold.servers.PortReservation;
import io.leasehold.servers.RedisServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the operator's verbs against a real server: release, wait, watch, leaks, doctor. */
@Tag("full")
class OperatorVerbsTest {

    private static final String STRANGER = "0123456789abcdef0123456789abcdef01234567:5:far/77/cafe";
    private static RedisServer server;

    @TempDir
    private Path directory;

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

    /** The program in this process, with its output. */
    static final class Program {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final ByteArrayOutputStream err = new ByteArrayOutputStream();
        private final Map<String, String> environment;

        Program() {
            this(server.uri());
        }

        Program(String store) {
            environment = new HashMap<>(Map.of("LEASEHOLD_STORE", store));
        }

        Program with(String variable, String value) {
            environment.put(variable, value);
            return this;
        }

        int run(String... arguments) {
            return Main.run(arguments, new Invocation(new Terminal(stream(out), stream(err)), environment));
        }

        CompletableFuture<Integer> start(String... arguments) {
            CompletableFuture<Integer> code = new CompletableFuture<>();
            Thread thread = new Thread(() -> code.complete(run(arguments)), "program");
            thread.setDaemon(true);
            thread.start();
            return code;
        }

        private static PrintStream stream(ByteArrayOutputStream bytes) {
            return new PrintStream(bytes, true, StandardCharsets.UTF_8);
        }

        String out() {
            return out.toString(StandardCharsets.UTF_8);
        }

        String err() {
            return err.toString(StandardCharsets.UTF_8);
        }
    }

    // ---- release

    @Test
    void releaseOnlySaysWhatItWouldDoUntilItIsToldYes() throws Exception {
        try (LockClient locks = Leasehold.connect(server.uri());
                Lease lease = locks.named("stuck").acquire()) {
            Program dry = new Program();
            assertThat(dry.run("release", "stuck", "--force")).isZero();
            assertThat(dry.out()).contains("with --yes", locks.holderId());
            lease.renew();

            Path audit = directory.resolve("audit.log");
            Program real = new Program().with("LEASEHOLD_AUDIT", audit.toString());
            assertThat(real.run("release", "stuck", "--holder", locks.holderId(), "--yes"))
                    .isZero();
            assertThat(real.out()).contains("was released", locks.holderId(), "fence was raised");
            assertThat(real.err())
                    .contains("leasehold: audit: {\"time\":", "\"lock\":\"stuck\"", locks.holderId(), "\"by\":");
            assertThat(Files.readString(audit))
                    .contains("\"action\":\"release\"")
                    .endsWith("}\n");
            assertThat(locks.admin().inspect(LockName.exactly("stuck"))).isEmpty();
            assertThat(Long.parseLong(server.call("GET", "lock:{stuck}:fence")))
                    .as("the fence is above the old holder's token")
                    .isGreaterThan(lease.fencingToken());
        }
    }

    @Test
    void releaseRefusesAnotherHolder() throws Exception {
        try (LockClient locks = Leasehold.connect(server.uri());
                Lease lease = locks.named("moved").acquire()) {
            Program program = new Program();
            assertThat(program.run("release", "moved", "--holder", "old/1/holder", "--yes", "--json"))
                    .isEqualTo(1);
            assertThat(program.out()).contains("\"outcome\":\"other-holder\"", "\"fenceRaised\":false");
            lease.renew();
            assertThat(lease.isValid()).isTrue();
        }
        Program free = new Program();
        assertThat(free.run("release", "moved", "--force", "--yes")).isEqualTo(1);
        assertThat(free.out()).contains("is free");
    }

    @Test
    void releaseWantsToKnowWhose() {
        Program program = new Program();
        assertThat(program.run("release", "x", "--yes")).isEqualTo(ExitCode.USAGE.code());
        assertThat(program.err()).contains("--holder ID", "--force");
        assertThat(new Program().run("release", "x", "--force", "--holder", "y"))
                .isEqualTo(ExitCode.USAGE.code());
    }

    // ---- wait

    @Test
    void waitEndsWhenTheLockIsFree() throws Exception {
        Program program = new Program();
        CompletableFuture<Integer> code;
        try (LockClient locks = Leasehold.connect(server.uri());
                Lease lease = locks.named("deploy").acquire()) {
            Program impatient = new Program();
            assertThat(impatient.run("wait", "deploy", "-w", "300ms")).isEqualTo(ExitCode.BUSY.code());
            assertThat(impatient.err()).contains("still held by " + locks.holderId());
            code = program.start("wait", "deploy", "--json");
            assertThat(lease.isValid()).isTrue();
        }
        assertThat(code.get(2, TimeUnit.MINUTES)).isZero();
        assertThat(program.out()).contains("\"free\":true");
    }

    // ---- watch

    static long lines(String text, String with) {
        return text.lines().filter(line -> line.contains(with)).count();
    }

    @Test
    void watchTellsEachChangeOnceAndPlainlyWithoutATerminal() throws Exception {
        Program program = new Program();
        CompletableFuture<Integer> code = program.start("watch", "job*", "--interval", "100ms", "--count", "100");
        try (LockClient locks = Leasehold.connect(server.uri())) {
            Lease lease = locks.named("job:1").acquire();
            locks.named("other").acquire();
            Await.until(program::out, () -> program.out().contains("+ job:1"));
            lease.release();
            Await.until(program::out, () -> program.out().contains("- job:1"));
        }
        assertThat(code.get(2, TimeUnit.MINUTES)).isZero();
        assertThat(program.out()).doesNotContain("\033", "other");
        assertThat(lines(program.out(), "+ job:1")).isEqualTo(1);
        assertThat(lines(program.out(), "- job:1")).isEqualTo(1);
    }

    @Test
    void watchSurvivesTheStoreGoingAwayAndServesMetrics() throws Exception {
        try (RedisServer unsteady = RedisServer.start()) {
            Program program = new Program().with("LEASEHOLD_STORE", unsteady.uri());
            CompletableFuture<Integer> watching =
                    program.start("watch", "--interval", "100ms", "--metrics", "0", "--json");
            Await.until(program::err, () -> program.err().contains("/metrics"));
            String url = program.err().replaceFirst("(?s).*(http://[0-9.:]+/metrics).*", "$1");
            Await.until(() -> scrape(url), () -> scrape(url).contains("distributed_lock_leaks{kind=\"no_ttl\"} 0"));
            assertThat(scrape(url)).contains("distributed_lock_store_up 1");
            unsteady.kill();
            Await.until(program::out, () -> program.out().contains("store-down"));
            Await.until(() -> scrape(url), () -> scrape(url).contains("distributed_lock_store_up 0"));
            unsteady.restart();
            Await.until(program::out, () -> program.out().contains("store-up"));
            unsteady.call("SET", "lock:{back}", STRANGER, "PX", "60000");
            Await.until(program::out, () -> program.out().contains("\"event\":\"held\",\"lock\":\"back\""));
            assertThat(program.out().lines().filter(line -> line.contains("store-down")))
                    .as("said once")
                    .hasSize(1);
            assertThat(lines(program.out(), "store-up")).as("said once").isEqualTo(1);
            assertThat(watching).isNotDone();
        }
    }

    @Test
    void watchDrawsInPlaceOnATerminal() throws Exception {
        assumeTrue(
                StartedCli.shell("script --version 2>&1").contains("util-linux"),
                "util-linux's script(1), which makes a pseudo-terminal, is not here: apt-get install bsdutils");
        server.call("SET", "lock:{shown}", STRANGER, "PX", "60000");
        String command = "exec " + String.join(" ", StartedCli.javaCommand()) + " watch --count 2 --interval 100ms";
        Path screen = directory.resolve("screen");
        ProcessBuilder builder = new ProcessBuilder("script", "-qefc", command, "/dev/null")
                .redirectErrorStream(true)
                .redirectOutput(screen.toFile());
        builder.environment().put("TERM", "xterm");
        builder.environment().put("LEASEHOLD_STORE", server.uri());
        Process process = builder.start();
        process.getOutputStream().close();
        assertThat(process.waitFor(3, TimeUnit.MINUTES)).isTrue();
        assertThat(StartedCli.read(screen)).contains("\033[H\033[2J", "shown", "far/77/cafe", "1 held");
    }

    private static String scrape(String url) {
        try {
            return HttpClient.newHttpClient()
                    .send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
                    .body();
        } catch (IOException e) {
            return e.toString();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void runServesItsOwnMeters() throws Exception {
        int port = PortReservation.forThisJvm();
        StartedCli.Setup cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", server.uri());
        String url = "http://127.0.0.1:" + port + "/metrics";
        try (StartedCli run = cli.start(
                "run",
                "--metrics",
                Integer.toString(port),
                "job",
                "--",
                "sh",
                "-c",
                "until [ -e end ]; do sleep 0.1; done")) {
            Await.until(
                    () -> run.err() + scrape(url),
                    () -> scrape(url).contains("distributed_lock_held{resource=\"job\"} 1"));
            Files.createFile(directory.resolve("end"));
            assertThat(run.exitCode()).as(run::err).isZero();
        }
    }

    @Test
    void showTellsWhoHoldsFromWhereSinceWhenAndWhoWaits() throws Exception {
        try (LockClient locks =
                        Leasehold.builder().store(server.uri()).label("billing").connect();
                LockClient other = Leasehold.connect(server.uri());
                Lease lease = locks.named("busy").acquire()) {
            var waiting = other.named("busy").attemptAsync(Duration.ofMinutes(2));
            LockName name = LockName.exactly("busy");
            Await.until(
                    "record and waiter",
                    () -> locks.admin().client(locks.holderId()).isPresent()
                            && !locks.admin().waiters(name, 1).isEmpty());
            Program show = new Program();
            assertThat(show.run("show", "busy")).isZero();
            assertThat(show.out())
                    .contains(
                            "holder    " + locks.holderId(),
                            "token     " + lease.fencingToken(),
                            "process   " + ProcessHandle.current().pid() + " on ",
                            ", billing",
                            "thread    " + Thread.currentThread().getName(),
                            "since     ",
                            "renewals  0",
                            "waiters   " + other.holderId());
            Program who = new Program();
            assertThat(who.run("who", "busy", "--json")).isZero();
            assertThat(who.out()).contains("\"client\":{\"host\":", "\"application\":\"billing\"", "\"heldSince\":\"");
            waiting.cancel(true);
        }
    }

    @Test
    void everyExitCodeHasItsRunbook() throws IOException {
        Path runbooks = Path.of("..", "docs", "runbooks");
        String index = Files.readString(runbooks.resolve("README.md"));
        for (ExitCode code : ExitCode.values()) {
            if (code != ExitCode.OK) {
                assertThat(runbooks.resolve("exit-" + code.code() + ".md")).exists();
                assertThat(index).contains("(exit-" + code.code() + ".md)");
            }
        }
    }

    @Test
    void refusesOptionsThatMakeNoSense() {
        assertThat(new Program().run("watch", "--interval", "1ms")).isEqualTo(ExitCode.USAGE.code());
        assertThat(new Program().run("watch", "--metrics", "70000")).isEqualTo(ExitCode.USAGE.code());
        assertThat(new Program().run("run", "--metrics", "-1", "x", "--", "true"))
                .isEqualTo(ExitCode.USAGE.code());
    }

    // ---- leaks and doctor

    @Test
    void leaksExitsWithOneIfThereAreAny() {
        assertThat(new Program().run("leaks")).isZero();
        server.call("SET", "lock:{endless}", STRANGER);
        Program program = new Program();
        assertThat(program.run("leaks")).isEqualTo(1);
        assertThat(program.out()).contains("no-ttl", "endless", "far/77/cafe").doesNotContain("0123456789abcdef");
        Program json = new Program();
        assertThat(json.run("leaks", "--json", "--older-than", "1h")).isEqualTo(1);
        assertThat(json.out()).startsWith("{\"kind\":\"no-ttl\",\"subject\":\"endless\",\"detail\":\"");
    }

    @Test
    void doctorExitsWith78IfLocksAreNotSafeAndSaysWhatToPaste() {
        Program program = new Program();
        assertThat(program.run("doctor")).isEqualTo(ExitCode.UNSAFE.code());
        assertThat(program.out()).contains("unsafe", "persistence", "→ CONFIG SET appendonly yes");
        Program memory = new Program().with("LEASEHOLD_STORE", "memory:");
        assertThat(memory.run("doctor", "--json")).isZero();
        assertThat(memory.out()).contains("{\"check\":\"rights\",\"grade\":\"good\"");
        Program sqlite = new Program().with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        assertThat(sqlite.run("doctor", "--json")).isLessThanOrEqualTo(1);
        assertThat(sqlite.out()).contains("{\"check\":\"rights\",\"grade\":\"good\"");
    }

    // ---- names that are no friends of terminals

    @ParameterizedTest
    @ValueSource(strings = {"show", "who", "wait", "release --force --yes"})
    void namesWithControlCharactersAreRefusedByEveryVerb(String verb) {
        for (String evil : List.of("a\nb", "a\u001b[31mred", "a\u0007", "a\u009bm", "a\u0000b")) {
            Program program = new Program();
            List<String> words = new ArrayList<>(List.of(verb.split(" ", -1)));
            words.add(1, evil);
            assertThat(program.run(words.toArray(String[]::new))).isEqualTo(ExitCode.USAGE.code());
            assertHarmless(program.out() + program.err());
            assertThat(program.err().lines()).hasSize(1);
        }
    }

    @Test
    void whatOthersWroteIntoTheStoreIsHarmless() {
        String owner = STRANGER.substring(0, 41);
        server.call(
                "SET", "lock:{reorder\u202Etxt}", owner + "5:evil\u001b]0;title\u0007/1/\u202Eid\nnext", "PX", "60000");
        server.call("SET", "lock:{two\nlines}", owner + "5:host/1/x", "PX", "60000");
        server.call("SET", "lock:{side\u001b[2J}:fence", "1");
        for (String[] command : new String[][] {
            {"ls"},
            {"ls", "--json"},
            {"ls", "[a-z*"},
            {"ls", "'; DROP TABLE locks; --"},
            {"leaks"},
            {"leaks", "--json"},
            {"watch", "--count", "1"},
            {"watch", "--count", "1", "--json"},
            {"show", "reorder\u202Etxt"},
            {"who", "reorder\u202Etxt"},
            {"release", "reorder\u202Etxt", "--force"},
            {"doctor"}
        }) {
            Program program = new Program();
            program.run(command);
            assertHarmless(program.out() + program.err());
        }
        Program sqlite = new Program().with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        assertThat(sqlite.run("doctor")).as("makes the store").isLessThanOrEqualTo(1);
        for (String evil : List.of("'; DROP TABLE leases; --", "%", "_", "[a]", "\\")) {
            assertThat(sqlite.run("ls", evil)).isZero();
            assertThat(sqlite.run("show", evil)).isEqualTo(1);
            assertThat(sqlite.run("release", evil, "--force", "--yes")).isEqualTo(1);
        }
    }

    private static void assertHarmless(String written) {
        assertThat(written.codePoints().filter(c -> c != '\n'))
                .as(written)
                .noneMatch(c -> Character.isISOControl(c) || Character.getType(c) == Character.FORMAT);
    }
}
