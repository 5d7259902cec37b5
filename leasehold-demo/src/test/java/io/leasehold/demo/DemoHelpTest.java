package io.leasehold.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.CommandTree;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StartedCli;
import io.leasehold.cli.output.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

/** With this module, the command line has the command {@code demo}, and hides the commands of its processes. */
@Tag("quick")
class DemoHelpTest {

    private static final int COLUMNS = 80;
    private static final int LINES = 40;

    @TempDir
    private Path directory;

    private static CommandLine program() {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        return CommandTree.commandLine(new Invocation(new Terminal(nowhere, nowhere), Map.of()));
    }

    @Test
    void theHelpNamesTheCommandAndNotThoseOfItsProcesses() {
        assertThat(program().getUsageMessage(Ansi.OFF)).contains("\n  demo ").doesNotContain("demo-");
        assertThat(program().getUsageMessage(Ansi.OFF).lines()).hasSizeLessThanOrEqualTo(LINES);
    }

    @Test
    void itsOwnHelpFitsOneScreen() {
        CommandLine demo = program().getSubcommands().get("demo");
        List<String> lines = demo.getUsageMessage(Ansi.OFF).lines().toList();
        assertThat(lines).hasSizeBetween(3, LINES).allMatch(line -> line.length() <= COLUMNS);
    }

    @Test
    void completionAndTheListOfCommandsHaveIt() {
        StartedCli.Setup cli = new StartedCli.Setup(directory);
        try (StartedCli none = cli.run();
                StartedCli completion = cli.run("completion")) {
            assertThat(none.err()).contains("redlock, demo, completion").doesNotContain("demo-");
            assertThat(completion.out()).contains("_leasehold_demo()").doesNotContain("demo-");
        }
    }
}
