package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the promises of {@code run} to scripts: exit codes, streams, environment, one line for each reason. */
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
    void reportsADeathBySignalAs128PlusItsNumber() {
        assertThat(cli.run("run", "job", "--", "sh", "-c", "kill -KILL $$").exitCode())
                .isEqualTo(137);
    }

    @Test
    void takesTheLockAgainRightAfterARunHasEnded() {
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
        assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
    }

    @Test
    void exits127WhenThereIsNoSuchCommand() {
        StartedCli run = cli.run("run", "job", "--", "no-such-command-here");

        assertThat(run.exitCode()).isEqualTo(127);
        assertThat(run.errLines()).singleElement().asString().contains("no-such-command-here", "not found");
    }

    @Test
    void exits127WhenTheInterpreterOfAScriptIsMissing() throws IOException {
        Path script = directory.resolve("script");
        Files.writeString(script, "#!/no/such/interpreter\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();

        StartedCli run = cli.run("run", "job", "--", script.toString());

        assertThat(run.exitCode()).isEqualTo(127);
        assertThat(run.errLines()).singleElement().asString().contains("/no/such/interpreter");
    }

    @Test
    void exits126WhenTheCommandCannotBeExecuted() throws IOException {
        Path script = Files.writeString(directory.resolve("plain"), "echo no\n");

        StartedCli plain = cli.run("run", "job", "--", script.toString());
        StartedCli folder = cli.run("run", "job", "--", directory.toString());

        assertThat(plain.exitCode()).isEqualTo(126);
        assertThat(plain.errLines()).singleElement().asString().contains("not executable");
        assertThat(folder.exitCode()).isEqualTo(126);
        assertThat(folder.errLines()).singleElement().asString().contains("directory");
    }

    @Test
    void givesStandardInputToTheCommand() throws IOException {
        Path input = Files.writeString(directory.resolve("input"), "one\ntwo\n");

        assertThat(cli.input(input).run("run", "job", "--", "cat").out()).isEqualTo("one\ntwo\n");
    }

    @Test
    void passesAMegabyteThroughAPipeUnchanged() throws IOException {
        byte[] bytes = new byte[1 << 20];
        new Random(7).nextBytes(bytes);
        Path input = Files.write(directory.resolve("input"), bytes);
        Path output = directory.resolve("output");
        String command = String.join(" ", StartedCli.javaCommand());

        StartedCli.shell("cat '" + input + "' | LEASEHOLD_STORE=memory: " + command + " run job -- cat | cat > '"
                + output + "'");

        assertThat(Files.readAllBytes(output)).isEqualTo(bytes);
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
    void keepsTextThatIsNotAscii() {
        String command = String.join(" ", StartedCli.javaCommand());
        String script = StartedCli.script(
                directory, "go", "LC_ALL=C.UTF-8 exec " + command + " run 'größe:€' -- printf '%s|' \"$0\" 'ü€😀'\n");
        String said = StartedCli.shell("LEASEHOLD_STORE=memory: " + script + " | od -An -c | tr -d ' \\n'");

        assertThat(said).endsWith("|303274342202254360237230200|".replace("|", "|"));
    }

    @Test
    void exits75WhenTheLockIsBusy() {
        try (StartedCli holder = holding("job")) {
            StartedCli atOnce = cli.run("run", "-n", "job", "--", "touch", "ran");
            StartedCli afterAWhile = cli.run("run", "-w", "200ms", "job", "--", "touch", "ran");
            StartedCli other = cli.run("run", "-n", "-E", "9", "job", "--", "touch", "ran");
            StartedCli skipped = cli.run("run", "-n", "--on-busy=skip", "job", "--", "touch", "ran");
            StartedCli silent = cli.run("run", "-n", "-q", "--on-busy=skip", "job", "--", "touch", "ran");

            assertThat(atOnce.exitCode()).isEqualTo(75);
            assertThat(atOnce.errLines())
                    .singleElement()
                    .asString()
                    .startsWith("leasehold: lock \"job\" is busy: held by ")
                    .contains("/" + holder.pid() + "/");
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
    void endsWhatTheCommandLeftBehind() {
        StartedCli run = cli.run("run", "--ttl=3s", "job", "--", "sh", "-c", "sleep 300 & echo $! > left");

        assertThat(run.exitCode()).isZero();
        assertThat(run.errLines()).singleElement().asString().contains("left 1 process behind");
        assertThat(isAlive(StartedCli.read(directory.resolve("left")))).isFalse();
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
        try (StartedCli holder = holding("job")) {
            assertThat(holder.isAlive()).isTrue();
            assertThat(cli.run("run", "--json", "-n", "job", "--", "true").errLines())
                    .singleElement()
                    .asString()
                    .contains("\"outcome\":\"busy\"", "\"exitCode\":75", "\"busyHolder\":{\"id\":");
        }
    }

    private StartedCli holding(String lock) {
        StartedCli holder = cli.start("run", lock, "--", "sh", "-c", "touch held; exec sleep 300");
        Await.until(
                () -> "the lock to be held; stderr: " + holder.err(), () -> Files.exists(directory.resolve("held")));
        return holder;
    }

    private StartedCli afterItExists(String file, java.util.function.Supplier<StartedCli> start) {
        Await.until(file, () -> Files.exists(directory.resolve(file)));
        return start.get();
    }

    static boolean isAlive(String pid) {
        return !StartedCli.shell("ps -o stat= -p " + pid.strip() + " | grep -v Z")
                .isBlank();
    }
}
