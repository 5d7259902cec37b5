package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.output.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that each failure is one line and an exit code, with a suggestion if possible, and without secrets. */
@Tag("quick")
class FailureLinesTest {

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private int run(Map<String, String> environment, String... arguments) {
        Terminal terminal = new Terminal(
                new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
        return Main.run(arguments, new Invocation(terminal, environment));
    }

    private String said() {
        return err.toString(StandardCharsets.UTF_8);
    }

    /** Exit code 1 would mean that the lock is free. */
    @ParameterizedTest
    @ValueSource(strings = {"who job", "show job", "ls", "leaks", "run job -- true"})
    void anErrorIsOneLineAndExitCode70(String line) {
        assertThat(run(Map.of("LEASEHOLD_STORE", "of-a-test-that-breaks:"), line.split(" ")))
                .isEqualTo(ExitCode.INTERNAL.code());
        assertThat(said().lines())
                .singleElement()
                .isEqualTo("leasehold: internal error: NoClassDefFoundError: org/example/Driver");
        assertThat(out.size()).isZero();
    }

    @Test
    void anErrorIsToldInJsonIfThatWasAskedFor() {
        assertThat(run(Map.of("LEASEHOLD_STORE", "of-a-test-that-breaks:"), "run", "--json", "job", "--", "true"))
                .isEqualTo(ExitCode.INTERNAL.code());
        assertThat(said().lines())
                .singleElement()
                .asString()
                .startsWith("{\"command\":\"run\",\"lock\":\"job\",\"outcome\":\"internal\",\"exitCode\":70,")
                .contains("NoClassDefFoundError");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "list|did you mean ls?",
                "relaese x|did you mean release?",
                "unlock x|did you mean release?",
                "docter|did you mean doctor?",
                "ls --jsn|did you mean --json?",
                "run --reed job -- true|did you mean --read?",
                "run --on-lots=kill job -- true|did you mean --on-lost?",
                "run --wiat 1s job -- true|did you mean --wait?",
                "run --conflict-exit=3 job -- true|did you mean --conflict-exit-code?",
                "release job --froce|did you mean --force?",
                "--sotre memory: ls|did you mean --store?",
                "--store postgres://h/db ls|did you mean jdbc:postgresql:?",
                "--store reddis://h ls|did you mean redis:?",
                "--store zookeeper://h ls|did you mean zk:?",
                "--store file:/tmp/x ls|did you mean sqlite:?",
            })
    void whatWasMeantIsSuggested(String line, String question) {
        assertThat(run(Map.of(), line.split(" "))).isEqualTo(ExitCode.USAGE.code());
        assertThat(said().lines()).singleElement().asString().contains(question);
    }

    @ParameterizedTest
    @ValueSource(strings = {"xyzzy", "warm-upp", "--store nowhere: ls", "ls --xyzzy", "ls -x", "ls -Q"})
    void nothingIsSuggestedWhereNothingIsNear(String line) {
        assertThat(run(Map.of(), line.split(" "))).isEqualTo(ExitCode.USAGE.code());
        assertThat(said()).doesNotContain("did you mean warm-up", "did you mean sqlite", "did you mean -");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ls * redis://:pw@host",
                "ls * redis://app:s3cret@host",
                "redis://:pw@host",
                "--stroe=redis://:pw@host ls",
                "run job redis://:pw@host -- true",
                "run job redis://:pw@host",
                "run --json job redis://:pw@host",
                "show redis://:s3cret@host --nonsense",
            })
    void aPasswordInTheWrongPlaceIsNotRepeated(String line) {
        assertThat(run(Map.of(), line.split(" "))).isEqualTo(ExitCode.USAGE.code());
        assertThat(said().lines()).singleElement().asString().doesNotContain("pw", "s3cret");
    }

    @Test
    void aPasswordOfTheEnvironmentIsNotRepeatedEither() {
        assertThat(run(Map.of("LEASEHOLD_STORE", "redis://:s3cret@host"), "ls", "*", "s3cret"))
                .isEqualTo(ExitCode.USAGE.code());
        assertThat(said()).doesNotContain("s3cret");
    }
}
