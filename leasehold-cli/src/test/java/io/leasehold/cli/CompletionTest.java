package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.CommandLookup;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that Bash accepts the completion script, and that the script knows the options. */
@Tag("full")
class CompletionTest {

    /** Completes as Bash would after these words, and prints the candidates. */
    private static final String COMPLETE = """

            COMP_WORDS=("$@")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _complete_leasehold leasehold "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """;

    private static String script() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Terminal terminal = new Terminal(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8));
        int code = Main.run(new String[] {"completion"}, new Invocation(terminal, Map.of()));
        assertThat(code).isZero();
        return out.toString(StandardCharsets.UTF_8);
    }

    private static String bash(String input, List<String> arguments) throws IOException, InterruptedException {
        boolean hasBash = new CommandLookup(System.getenv("PATH")).find("bash") instanceof CommandLookup.Result.Found;
        assumeTrue(hasBash, "bash is not here: the completion script was not tried");
        List<String> command = new ArrayList<>(List.of("bash", "--norc"));
        command.addAll(arguments);
        Process bash = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (OutputStream in = bash.getOutputStream()) {
            in.write(input.getBytes(StandardCharsets.UTF_8));
        }
        String said = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(bash.exitValue()).as(said).isZero();
        return said;
    }

    @Test
    void isAcceptedByBash() throws IOException, InterruptedException {
        assertThat(bash(script(), List.of("-n"))).isEmpty();
    }

    @Test
    void offersCommandsAndOptionsAndNothingHidden() throws IOException, InterruptedException {
        String program = script() + COMPLETE;
        assertThat(bash(program, List.of("-s", "--", "leasehold", "")).lines())
                .contains("run", "ls", "show", "who", "completion")
                .doesNotContain("warm-up", "demo");
        assertThat(bash(program, List.of("-s", "--", "leasehold", "run", "--on"))
                        .lines())
                .contains("--on-busy", "--on-lost");
    }
}
