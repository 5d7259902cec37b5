package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Tests that help fits one screen and is not an error, and that wrong use is one line on standard error. */
@Tag("quick")
class HelpTest {

    private static final int COLUMNS = 80;
    private static final int LINES = 40;

    /** The column of the sentences in the list of commands, after the longest name. */
    private static final int LIST_INDENT = 14;

    @TempDir
    Path directory;

    /** Runs the program in this process. It writes nothing past the terminal, although picocli knows the real streams. */
    private Answer program(String... arguments) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream past = new ByteArrayOutputStream();
        PrintStream caught = new PrintStream(past, true, StandardCharsets.UTF_8);
        System.setOut(caught);
        System.setErr(caught);
        Answer answer;
        try {
            answer = new StartedCli.Setup(directory).ask(arguments);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        assertThat(past.toString(StandardCharsets.UTF_8)).isEmpty();
        return answer;
    }

    @Test
    void aSeparateProcessWritesHelpToStandardOutput() {
        try (StartedCli program = new StartedCli.Setup(directory).run("--help")) {
            assertThat(program.exitCode()).isZero();
            assertThat(program.err()).isEmpty();
            assertThat(program.out()).isEqualTo(program("--help").out());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--help", "-h", "run --help", "--version", "run -V"})
    void goesToStandardOutputAndIsNoError(String line) {
        Answer program = program(line.split(" "));
        assertThat(program.exitCode()).isZero();
        assertThat(program.err()).isEmpty();
        assertThat(program.out()).containsIgnoringCase("leasehold");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "fly", "--nonsense", "run", "run --nonsense job -- true", "ls --limit many", "who"})
    void leavesStandardOutputAloneAfterWrongUse(String line) {
        Answer program = program(line.isEmpty() ? new String[0] : line.split(" "));
        assertThat(program.exitCode()).isEqualTo(ExitCode.USAGE.code());
        assertThat(program.out()).isEmpty();
        assertThat(program.err().lines()).singleElement().asString().startsWith("leasehold: ");
    }

    @Test
    void fitsOneScreenForEveryCommand() {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        CommandLine root = CommandTree.commandLine(new Invocation(new Terminal(nowhere, nowhere), Map.of()));
        assertFits(root);
        root.getSubcommands().values().forEach(HelpTest::assertFits);
    }

    /** Each command costs time at a start, and {@code run} starts often. */
    @Test
    void aRunReadsNoOtherCommandAndHelpsAsEver() {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        Invocation invocation = new Invocation(new Terminal(nowhere, nowhere), Map.of());
        CommandLine one = CommandTree.commandLine(new String[] {"run", "--help"}, invocation);
        CommandLine all = CommandTree.commandLine(new String[] {"--store", "memory:", "run"}, invocation);

        assertThat(one.getSubcommands()).containsOnlyKeys("run");
        assertThat(all.getSubcommands()).hasSizeGreaterThan(10);
        assertThat(one.getSubcommands().get("run").getUsageMessage(CommandLine.Help.Ansi.OFF))
                .isEqualTo(all.getSubcommands().get("run").getUsageMessage(CommandLine.Help.Ansi.OFF));
    }

    @Test
    void describesCommandsAndOptionsInSentences() {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        CommandLine root = CommandTree.commandLine(new Invocation(new Terminal(nowhere, nowhere), Map.of()));
        assertSentences(root.getCommandSpec());
        root.getSubcommands().values().forEach(command -> assertSentences(command.getCommandSpec()));
    }

    private static void assertSentences(CommandLine.Model.CommandSpec command) {
        if (command.usageMessage().hidden()) {
            return;
        }
        if (command.parent() != null) {
            String[] header = command.usageMessage().header();
            assertSentence(command.name(), header);
            assertThat(header).as("the list of commands has one line for each").hasSize(1);
            assertThat(header[0]).hasSizeLessThanOrEqualTo(COLUMNS - LIST_INDENT);
        }
        if (command.usageMessage().description().length > 0) {
            assertSentence(command.name(), command.usageMessage().description());
        }
        command.options().stream()
                .filter(option -> !option.hidden())
                .forEach(option -> assertSentence(command.name() + " " + option.longestName(), option.description()));
        command.positionalParameters().stream()
                .filter(parameter -> !parameter.hidden())
                .forEach(parameter ->
                        assertSentence(command.name() + " " + parameter.paramLabel(), parameter.description()));
    }

    private static void assertSentence(String of, String[] description) {
        assertThat(String.join(" ", description).replace("%n", " ").strip())
                .as(of)
                .matches("\\p{Lu}.*\\.");
    }

    private static void assertFits(CommandLine command) {
        String name = command.getCommandSpec().qualifiedName();
        List<String> lines =
                command.getUsageMessage(CommandLine.Help.Ansi.OFF).lines().toList();
        assertThat(lines).as(name).hasSizeBetween(3, LINES);
        assertThat(lines).as(name).allMatch(line -> line.length() <= COLUMNS);
    }

    @Test
    void namesEveryVisibleCommandInTheHelpAndWhenNoneIsGiven() {
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        CommandLine root = CommandTree.commandLine(new Invocation(new Terminal(nowhere, nowhere), Map.of()));
        List<String> visible = root.getSubcommands().entrySet().stream()
                .filter(command ->
                        !command.getValue().getCommandSpec().usageMessage().hidden())
                .map(Map.Entry::getKey)
                .toList();
        assertThat(root.getUsageMessage(CommandLine.Help.Ansi.OFF)).contains(visible);
        assertThat(program().err()).contains(visible);
    }
}
