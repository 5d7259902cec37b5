package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The launcher starts the JVM with the archive of what this kind of start needs, and changes no variable of its caller. */
@Tag("quick")
class LauncherKindTest {

    private static final Path LAUNCHER = Path.of("..", "leasehold");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "sqlite  |                | run job -- true",
                "sqlite  |                | run -- run",
                "sqlite  |                | --store sqlite:/x run job -- true",
                "sqlite  |                | --store=jdbc:sqlite:/x run job -- --store redis://h",
                "sqlite  | redis://h      | run --store sqlite:/x job -- true",
                "redis   | redis://h      | run -q -w 5s job -- true",
                "redis   |                | run --store rediss://h job -- true",
                "redis   |                | --store redis-sentinel://a,b/main run job -- true",
                "redis   |                | --store redis-replicated://a,b run job -- true",
                "lettuce |                | --store redis-cluster://a run job -- true",
                "lettuce |                | --store redlock:?node=redis://a run job -- true",
                "lettuce |                | --store redis://a --store redis://b run job -- true",
                "lettuce |                | --store redis://a --store=redis://b run job -- true",
                "lettuce |                | run --store redis://a?toldAtOnce=true job -- true",
                "lettuce | redis://a/1?waitReplicas=1 | run job -- true",
                "all     | redis://h      | ls",
                "all     |                | --store zk://a run job -- true",
                "all     | jdbc:postgresql://h/d | run job -- true",
                "all     |                | --help",
                "all     |                | ''",
            })
    void theKindFollowsFromTheStoreAndTheVerb(String kind, String variable, String words) throws Exception {
        String function = "eval \"$(sed -n '/^find_kind() {/,/^}/p' \"$0\")\" && find_kind \"$@\" && echo $_lh_kind";
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-uc", function, LAUNCHER.toString()));
        command.addAll(words.isEmpty() ? List.of() : List.of(words.split(" ", -1)));
        ProcessBuilder shell = new ProcessBuilder(command).redirectErrorStream(true);
        shell.environment().put("LEASEHOLD_STORE", variable == null ? "" : variable);

        String said = new String(shell.start().getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(said).isEqualTo(kind + "\n");
    }

    /** A shell passes the new value of an exported variable on to what it starts, here the command. */
    @Test
    void everyVariableOfTheLauncherHasItsPrefix() throws IOException {
        assertThat(Files.readAllLines(LAUNCHER).stream()
                        .filter(line -> !line.strip().startsWith("#"))
                        .filter(line -> line.matches("\\s*(for |read -r )?[a-z][a-z_]*(=.*| in .*)")
                                || line.matches(".*(read -r|; ) *[a-z][a-z_]*=.*")))
                .isEmpty();
    }
}
