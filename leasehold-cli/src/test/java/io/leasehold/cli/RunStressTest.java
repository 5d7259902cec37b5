package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of the short form of the script {@code leasehold-cli/stress}, with the proof that it would detect a broken
 * lock.
 */
@Tag("full")
class RunStressTest {

    @TempDir
    private Path directory;

    private Path stress;
    private String said = "";

    @BeforeEach
    void needBashAndTheScript() {
        assumeTrue(
                StartedCli.shell("command -v bash && bash -c 'echo \"${BASH_VERSINFO[0]}\"'")
                        .strip()
                        .matches("(?s).*\n([5-9]|\\d\\d)"),
                "the stress needs bash 5 or newer, and this machine has none");
        stress = Path.of("stress").toAbsolutePath();
        assumeTrue(Files.isExecutable(stress), "the tests do not run in the module's directory: no " + stress);
    }

    /** Runs the script with this program in place of the launcher; returns its exit code. */
    private int stress(String minutes, String program) throws IOException, InterruptedException {
        Path output = directory.resolve("said");
        ProcessBuilder builder = new ProcessBuilder(
                        stress.toString(), "--minutes", minutes, "--shells", "4", "--with", program)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("LEASEHOLD"));
        Path temporary = Files.createDirectories(directory.resolve("tmp"));
        builder.environment().put("TMPDIR", temporary.toString());
        Process process = builder.start();
        try {
            assertThat(process.waitFor(StartedCli.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as("it ends")
                    .isTrue();
        } finally {
            process.destroy();
        }
        said = StartedCli.read(output);
        try (var left = Files.list(temporary)) {
            assertThat(left.filter(file -> file.getFileName().toString().startsWith("tmp.")))
                    .isEmpty();
        }
        return process.exitValue();
    }

    @Test
    void nothingRunsWithoutTheLockWhoeverIsKilled() throws IOException, InterruptedException {
        List<String> java = new ArrayList<>();
        StartedCli.javaCommand().forEach(word -> java.add("'" + word + "'"));
        String program = StartedCli.script(directory, "leasehold", "exec " + String.join(" ", java) + " \"$@\"");

        int code = stress("0.3", program);

        assertThat(code).as(said).isZero();
        assertThat(said.lines().toList()).last().asString().contains("commands began", " 0 violations");
    }

    @Test
    void findsThatALockDoesNotHold() throws IOException, InterruptedException {
        String program = StartedCli.script(
                directory,
                "no-lock",
                "while [ \"$1\" != -- ]; do shift; done; shift; LEASEHOLD_FENCING_TOKEN=$$ exec \"$@\"");

        int code = stress("0.05", program);

        assertThat(code).as(said).isEqualTo(ExitCode.FOUND.code());
        assertThat(said).contains("VIOLATION: still at work after the command of token");
    }
}
