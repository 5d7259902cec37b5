package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.output.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that wrong use is refused with exit code 64 and one line that names the value and the rule, without a
 * connection.
 */
@Tag("quick")
class RunUsageTest {

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private int run(String... arguments) {
        Terminal terminal = new Terminal(
                new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
        return Main.run(
                arguments, new Invocation(terminal, Map.of("LEASEHOLD_STORE", "nowhere:", "PATH", "/bin:/usr/bin")));
    }

    private String complaint() {
        return err.toString(StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "run|LOCK",
                "run job|LOCK -- COMMAND",
                "run job --|LOCK -- COMMAND",
                "run job true|put -- before the command",
                "run --nonsense job -- true|--nonsense",
                "run -w 3 job -- true|write 3s",
                "run -w -3s job -- true|-3s",
                "run -w soon job -- true|\"soon\" is not a duration",
                "run -n -w 3s job -- true|exclude each other",
                "run --on-busy=skip job -- true|--on-busy needs",
                "run -n --on-busy=wait job -- true|wait",
                "run -n -E 256 job -- true|between 0 and 255",
                "run -n -E 9 --on-busy=skip job -- true|exclude each other",
                "run --ttl 5ms job -- true|ttl is 5ms; it must be between 100ms and 24h",
                "run --ttl 0s job -- true|ttl is 0s",
                "run --ttl 25h job -- true|ttl is 25h",
                "run --ttl 10s --grace 8s job -- true|--grace is 8s; with a ttl of 10s a healthy lease may have only",
                "run --on-lost=cry job -- true|cry",
                "run one two -- true|one lock",
                "run job -- true|nowhere",
                "--store= run job -- true|store URI",
                "--store 127.0.0.1 run job -- true|has no scheme",
                "fly|fly",
            })
    void refuses(String line, String expected) {
        int code = run(line.split(" "));

        assertThat(complaint().lines())
                .singleElement()
                .asString()
                .startsWith("leasehold: ")
                .contains(expected);
        assertThat(code).isEqualTo(ExitCode.USAGE.code());
        assertThat(out.size()).isZero();
    }

    /** A script that requested JSON need not parse sentences, even if other options are wrong. */
    @Test
    void refusesInJsonIfThatWasAskedFor() {
        for (String line : new String[] {"run --json --ttl=soon job -- true", "run --wait=-1s --json job -- true"}) {
            err.reset();
            assertThat(run(line.split(" "))).isEqualTo(ExitCode.USAGE.code());
            assertThat(complaint().lines())
                    .singleElement()
                    .asString()
                    .startsWith("{\"command\":\"run\"")
                    .contains("\"outcome\":\"usage\"", "\"exitCode\":64", "\"reason\":\"")
                    .endsWith("}");
        }
        err.reset();
        assertThat(run("run", "--ttl=soon", "job", "--", "grep", "--json")).isEqualTo(ExitCode.USAGE.code());
        assertThat(complaint()).as("the command's own option").startsWith("leasehold: ");
    }

    @Test
    void refusesNamesThatCannotBeLocked() {
        for (String name : new String[] {"", "  ", "a\u0007b", "x".repeat(1025)}) {
            err.reset();
            assertThat(run("run", name, "--", "true")).isEqualTo(ExitCode.USAGE.code());
            assertThat(complaint().lines()).singleElement().asString().contains("lock name");
        }
    }

    @Test
    void saysWhichCommandsThereAre() {
        assertThat(run()).isEqualTo(ExitCode.USAGE.code());
        assertThat(complaint()).contains("run", "ls", "redlock").doesNotContain("demo");
    }

    @ParameterizedTest
    @ValueSource(strings = {"demo", "demo broken --quick", "--store memory: demo --workers=2"})
    void saysWhereDemonstrationsAre(String line) {
        assertThat(run(line.split(" "))).isEqualTo(ExitCode.USAGE.code());
        assertThat(complaint())
                .isEqualToIgnoringNewLines(
                        "leasehold: demonstrations come with the full archive, leasehold-demo, or a checkout");
        assertThat(out.size()).isZero();
    }

    @Test
    void fitsTheHelpOnOneScreen() {
        assertThat(run("run", "--help")).isZero();
        String[] lines = out.toString(StandardCharsets.UTF_8).split("\n", -1);
        assertThat(lines).hasSizeLessThanOrEqualTo(40);
        assertThat(Arrays.stream(lines).mapToInt(String::length).max().orElse(0))
                .isLessThanOrEqualTo(80);
    }
}
