package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of small faults that would break a script. */
@Tag("full")
class SmallFaultsTest {

    @TempDir
    private Path directory;

    private String store;
    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        store = "sqlite:" + directory.resolve("locks.db");
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
    }

    private String program(String rest) {
        return StartedCli.script(directory, "program", String.join(" ", StartedCli.javaCommand()) + " " + rest);
    }

    @Test
    void endsWhenNobodyReadsAnyMore() {
        String script = StartedCli.script(
                directory,
                "reads-once",
                "{ " + String.join(" ", StartedCli.javaCommand())
                        + " watch --interval 100ms 2>err; echo $? >code; } | head -1 >first");
        try (LockClient locks = Leasehold.connect(store);
                StartedCli watch = cli.startScript(script)) {
            Await.until("the end of watch", () -> {
                changeSomething(locks);
                return !watch.isAlive();
            });
        }
        assertThat(StartedCli.read(directory.resolve("first")).lines()).hasSize(1);
        assertThat(StartedCli.read(directory.resolve("code"))).isEqualTo("141\n");
        assertThat(StartedCli.read(directory.resolve("err"))).isEmpty();
    }

    private static void changeSomething(LockClient locks) {
        try (Lease lease = locks.named("job").tryAcquire(Duration.ZERO)) {
            StartedCli.shell("sleep 0.3");
            assertThat(lease).isNotNull();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void failsWhereNothingCanBeWritten() throws InterruptedException {
        assumeTrue(Files.isWritable(Path.of("/dev/full")), "/dev/full is not here: this needs Linux");
        String script = program("ls >/dev/full");
        try (LockClient locks = Leasehold.connect(store);
                Lease lease = locks.named("job").acquire();
                StartedCli list = cli.startScript(script)) {
            assertThat(list.exitCode()).isEqualTo(ExitCode.INTERNAL.code());
            assertThat(list.errLines()).singleElement().asString().contains("standard output cannot be written");
            assertThat(lease.isValid()).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--help", "-V", "run --help", "completion"})
    void failsWhereHelpCannotBeWritten(String words) {
        assumeTrue(Files.isWritable(Path.of("/dev/full")), "/dev/full is not here: this needs Linux");
        try (StartedCli help = cli.startScript(program(words + " >/dev/full"))) {
            assertThat(help.exitCode()).isEqualTo(ExitCode.INTERNAL.code());
            assertThat(help.errLines()).singleElement().asString().contains("standard output cannot be written");
        }
    }

    /** No other output contains it. */
    @Test
    void tellsThePortThatWasNotChosen() {
        StartedCli run = cli.run("run", "--quiet", "--metrics", "0", "job", "--", "true");

        assertThat(run.exitCode()).isZero();
        assertThat(run.errLines())
                .singleElement()
                .asString()
                .matches("leasehold: metrics at http://127\\.0\\.0\\.1:[1-9][0-9]+/metrics");
    }

    /** A mistyped path must not create a second store in which every lock is free. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "ls",
                "show job",
                "who job",
                "watch --count 1",
                "wait job",
                "leaks",
                "release job --force",
                "release job --force --yes",
                "permits pool",
                "permits pool --count 2",
                "permits pool --release 0 --force --yes"
            })
    void aLookMakesNoStore(String words) throws IOException {
        Path missing = directory.resolve("no/such/locks.db");
        Path empty = Files.createFile(directory.resolve("empty.db"));
        for (String uri :
                List.of("sqlite:" + missing, "jdbc:sqlite:" + missing, "sqlite:" + empty + "?synchronous=full")) {
            StartedCli look = cli.with("LEASEHOLD_STORE", uri).run(words.split(" "));

            assertThat(look.exitCode()).as(look::err).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
            assertThat(look.errLines()).singleElement().asString().contains("there is no store at " + directory);
        }
        assertThat(directory.resolve("no")).doesNotExist();
        assertThat(empty).isEmptyFile();
        assertThat(directory.resolve("empty.db-wal")).doesNotExist();
    }

    @Test
    void aLongLookMakesNoStoreAnew() throws IOException {
        Leasehold.connect(store).close();
        try (StartedCli watch = cli.start("watch", "--json", "--interval", "100ms")) {
            Await.until(
                    "the start of watch",
                    () -> StartedCli.shell("ls '" + directory + "'").contains("locks.db-life-"));
            for (String suffix : List.of("", "-wal", "-shm")) {
                Files.deleteIfExists(directory.resolve("locks.db" + suffix));
            }
            Await.until(() -> "the report; " + watch.err(), () -> watch.out().contains("store-down"));
            assertThat(watch.out()).contains("there is no store at " + directory);
            assertThat(directory.resolve("locks.db")).doesNotExist();
        }
    }

    @Test
    void refusesAPortThatIsInUse() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(taken.getLocalPort());
            StartedCli run = cli.run("run", "--metrics", port, "job", "--", "touch", "ran");

            assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.USAGE.code());
            assertThat(run.err()).contains("--metrics", port).doesNotContain("internal");
            assertThat(directory.resolve("ran")).doesNotExist();
        }
    }

    @Test
    void runsALockThatBeginsWithADash() {
        StartedCli run =
                cli.run("run", "-n", "--", "-x", "--", "sh", "-c", "echo \"$LEASEHOLD_LOCK $1\" >got", "sh", "--");

        assertThat(run.exitCode()).as(run::err).isZero();
        assertThat(StartedCli.read(directory.resolve("got"))).isEqualTo("-x --\n");
    }

    /** The variable {@code HOME} names the test's directory. */
    @Test
    void findsTheHomeThatTheEnvironmentNames() {
        StartedCli run = new StartedCli.Setup(directory).run("run", "job", "--", "true");

        assertThat(run.exitCode()).as(run::err).isZero();
        assertThat(directory.resolve(".leasehold/locks.db")).exists();
    }
}
