package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
