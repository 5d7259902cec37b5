package io.leasehold.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.cli.CommandTree;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.CommandLookup;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** The manual page and the contract of the command line name exactly what the program has. */
@Tag("quick")
class ManPageTest {

    private static final Path MANUAL = Path.of("../docs/man/leasehold.1");
    private static final Path CONTRACT = Path.of("../docs/cli.md");

    /** The key of the options that every command has. */
    private static final String GLOBAL = "";

    private static final Pattern OPTION = Pattern.compile("(?<![\\w-])(?:--[a-z][a-z-]*|-[A-Za-z])(?![\\w-])");
    private static final Pattern LONG_OPTION = Pattern.compile("(?<![\\w-])--[a-z][a-z-]*");
    private static final Pattern FIRST_CELL = Pattern.compile("^\\|((?:[^|\\\\]|\\\\.)*)\\|");
    private static final Pattern COMMAND_HEADING = Pattern.compile("## `leasehold ([a-z-]+)`");
    private static final Pattern COMMAND_SECTION = Pattern.compile("\\.SS leasehold ([a-z-]+)");
    private static final Pattern CODE_IN_TABLE = Pattern.compile("(?m)^\\| (\\d+) \\|");
    private static final Pattern CODE_IN_MANUAL = Pattern.compile("(?m)^\\.TP\n\\.B (\\d+)$");

    private static Map<String, Set<String>> optionsOfTheProgram() {
        Terminal nowhere = new Terminal(silent(), silent());
        CommandLine line = CommandTree.commandLine(new Invocation(nowhere, Map.of()));
        Map<String, Set<String>> options = new TreeMap<>();
        Set<String> everywhere = visible(line.getCommandSpec());
        options.put(GLOBAL, everywhere);
        line.getSubcommands().values().stream()
                .map(CommandLine::getCommandSpec)
                .filter(command -> !command.usageMessage().hidden())
                .forEach(command -> {
                    Set<String> own = visible(command);
                    own.removeAll(everywhere);
                    options.put(command.name(), own);
                });
        return options;
    }

    private static Set<String> visible(CommandSpec command) {
        return command.options().stream()
                .filter(option -> !option.hidden())
                .map(OptionSpec::names)
                .flatMap(Arrays::stream)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static PrintStream silent() {
        return new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
    }

    /** The options in the first column of the tables below each command's heading. */
    private static Map<String, Set<String>> optionsOfTheContract() throws IOException {
        Map<String, Set<String>> options = new TreeMap<>();
        String command = "none";
        for (String line : Files.readAllLines(CONTRACT)) {
            if (line.startsWith("## ")) {
                command = line.equals("## Global options")
                        ? GLOBAL
                        : named(COMMAND_HEADING, line).orElse("none");
                if (!command.equals("none")) {
                    options.put(command, new TreeSet<>());
                }
            } else if (line.startsWith("| `-")) {
                assertThat(options).as("a section for the options in: " + line).containsKey(command);
                options.computeIfAbsent(command, any -> new TreeSet<>())
                        .addAll(all(OPTION, named(FIRST_CELL, line).orElseThrow()));
            }
        }
        return options;
    }

    /** The options in the tags of the paragraphs in each command's section. */
    private static Map<String, Set<String>> optionsOfTheManual() throws IOException {
        Map<String, Set<String>> options = new TreeMap<>();
        String command = "none";
        for (Iterator<String> lines = Files.readAllLines(MANUAL).iterator(); lines.hasNext(); ) {
            String line = lines.next();
            if (line.startsWith(".SH ")) {
                command = line.equals(".SH GLOBAL OPTIONS") ? GLOBAL : "none";
            }
            Optional<String> section = named(COMMAND_SECTION, line);
            command = section.orElse(command);
            if (section.isPresent() || line.equals(".SH GLOBAL OPTIONS")) {
                options.put(command, new TreeSet<>());
            } else if (line.equals(".TP") && options.containsKey(command)) {
                options.computeIfAbsent(command, any -> new TreeSet<>()).addAll(all(OPTION, plain(lines.next())));
            }
        }
        return options;
    }

    private static Optional<String> named(Pattern part, String line) {
        return part.matcher(line).results().map(found -> found.group(1)).findFirst();
    }

    private static Set<String> all(Pattern pattern, String text) {
        return pattern.matcher(text)
                .results()
                .map(found -> found.groupCount() == 0 ? found.group() : found.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** A line of roff without its markup. */
    private static String plain(String line) {
        return line.replaceFirst("^\\.[A-Z]+ ", "")
                .replaceAll("\\\\f[A-Z]", "")
                .replace("\\-", "-")
                .replace("\"", "");
    }

    @Test
    void namesEveryCommandAndOptionInTheContract() throws IOException {
        assertThat(optionsOfTheContract()).isEqualTo(optionsOfTheProgram());
    }

    @Test
    void namesEveryCommandAndOptionInTheManual() throws IOException {
        assertThat(optionsOfTheManual()).isEqualTo(optionsOfTheProgram());
    }

    @Test
    void mentionsNoOptionThatDoesNotExist() throws IOException {
        Set<String> real =
                optionsOfTheProgram().values().stream().flatMap(Set::stream).collect(Collectors.toSet());
        for (Path document : new Path[] {CONTRACT, MANUAL}) {
            // The scripts next to the program have options of their own.
            String text = Files.readString(document).replace("\\-", "-").replaceAll("(?m)^leasehold-cli/.*$", "");
            assertThat(real).as("options mentioned in " + document).containsAll(all(LONG_OPTION, text));
        }
    }

    @Test
    void explainsExactlyTheExitCodesThereAre() throws IOException {
        Set<String> codes = Stream.of(ExitCode.values())
                .map(code -> Integer.toString(code.code()))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(all(CODE_IN_TABLE, Files.readString(CONTRACT))).isEqualTo(codes);
        assertThat(all(CODE_IN_MANUAL, Files.readString(MANUAL))).isEqualTo(codes);
    }

    @Test
    void documentsEveryVariableInBoth() throws IOException {
        Map<String, String> documents = new LinkedHashMap<>();
        documents.put("manual", Files.readString(MANUAL));
        documents.put("contract", Files.readString(CONTRACT));
        documents.forEach((name, text) -> assertThat(text)
                .as(name)
                .contains("LEASEHOLD_LOCK", "LEASEHOLD_FENCING_TOKEN", "LEASEHOLD_HOLDER", "LEASEHOLD_TTL_MS")
                .contains("LEASEHOLD_DEADLINE_EPOCH_MS", "LEASEHOLD_RUN", "LEASEHOLD_LOG", StoreOption.VARIABLE));
    }

    @Test
    void isAPageThatGroffTakesWithoutAWarning() throws IOException, InterruptedException {
        boolean hasGroff = new CommandLookup(System.getenv("PATH")).find("groff") instanceof CommandLookup.Result.Found;
        assumeTrue(hasGroff, "groff is not here: the manual page was not rendered");
        Process groff = new ProcessBuilder("groff", "-man", "-ww", "-z", MANUAL.toString())
                .redirectErrorStream(true)
                .start();
        groff.getOutputStream().close();
        String warnings = new String(groff.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(groff.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(warnings).isEmpty();
        assertThat(groff.exitValue()).isZero();
    }
}
