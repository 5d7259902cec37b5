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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the exit codes of {@code run} for commands that cannot start or that a signal ends, and of what passes its streams. */
@Tag("full")
class RunStreamsTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    @Test
    void reportsADeathBySignalAs128PlusItsNumber() {
        assertThat(cli.run("run", "job", "--", "sh", "-c", "kill -KILL $$").exitCode())
                .isEqualTo(137);
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

    /** It is looked up before the lock is requested, and the program that starts it may not report what is missing. */
    @ParameterizedTest
    @ValueSource(strings = {"cgroup", "reaper", "remembered"})
    void exits127WhenTheCommandVanishesWhileItWaitsForTheLock(String containment) throws IOException {
        Path script = Path.of(StartedCli.script(directory, "vanishes", "exit 0"));
        try (StartedCli holder =
                cli.start("run", "job", "--", "sh", "-c", "touch held; until [ -e go ]; do sleep 0.05; done")) {
            Await.until(holder::err, () -> Files.exists(directory.resolve("held")));
            try (StartedCli waiter =
                    cli.with("LEASEHOLD_CONTAINMENT", containment).start("run", "job", "--", script.toString())) {
                RunSignalTest.awaitWaiting(waiter);
                Files.delete(script);
                Files.createFile(directory.resolve("go"));

                assertThat(holder.exitCode()).as(holder::err).isZero();
                assertThat(waiter.exitCode()).as(waiter::err).isEqualTo(127);
                assertThat(waiter.errLines()).contains("leasehold: command \"" + script + "\" was not found");
            }
        }
    }

    /** The program that starts it in a session of its own would take it for an option. */
    @Test
    void startsACommandWhoseNameBeginsWithADash() {
        StartedCli.script(directory, "-V", "echo started");
        for (String containment : List.of("cgroup", "remembered")) {
            StartedCli run = cli.with("PATH", directory + ":" + System.getenv("PATH"))
                    .with("LEASEHOLD_CONTAINMENT", containment)
                    .run("run", "job", "--", "-V");
            assertThat(run.exitCode()).as(run.err()).isZero();
            assertThat(run.out()).isEqualTo("started\n");
        }
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
    void keepsTextThatIsNotAscii() {
        String command = String.join(" ", StartedCli.javaCommand());
        String script = StartedCli.script(
                directory, "go", "LC_ALL=C.UTF-8 exec " + command + " run 'größe:€' -- printf '%s|' \"$0\" 'ü€😀'\n");
        String said = StartedCli.shell("LEASEHOLD_STORE=memory: " + script + " | od -An -c | tr -d ' \\n'");

        assertThat(said).endsWith("|303274342202254360237230200|".replace("|", "|"));
    }
}
