package io.leasehold.cli.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.cli.CommandTree;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.TypedWords;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

@Tag("quick")
class PlainRunTest {

    private static final PrintStream NOWHERE = new PrintStream(OutputStream.nullOutputStream());
    private static final Map<String, String> ENVIRONMENT = Map.of("LEASEHOLD_STORE", "memory:environment");

    /** Words of a command line, right and wrong ones. */
    private static final List<String> WORDS = List.of(
            "run",
            "x",
            "--",
            "true",
            "-n",
            "-q",
            "-w",
            "5s",
            "--wait=3s",
            "--wait",
            "--no-wait",
            "--ttl",
            "20s",
            "--ttl=9s",
            "--grace",
            "1s",
            "--grace=2s",
            "--at-least=1m",
            "--export=/t",
            "--export",
            "--resume",
            "/r",
            "--claim=5m",
            "--on-lost=kill",
            "--on-lost=TERM",
            "--on-lost",
            "ignore",
            "--on-busy=skip",
            "--on-busy",
            "fail",
            "-E",
            "9",
            "--conflict-exit-code=7",
            "-E7",
            "-nq",
            "--metrics=0",
            "--metrics",
            "010",
            "--json",
            "--json=true",
            "--quiet",
            "--require-containment",
            "--store",
            "memory:",
            "--store=sqlite:/a",
            "--help",
            "-h",
            "",
            "-",
            "--stor=memory:",
            "5",
            "ls",
            "--wait=",
            "--ttl=nonsense",
            "-w=5s",
            "@x",
            "--version",
            "a b",
            "--no-wait=false");

    private static Invocation invocation(List<String> arguments) {
        return new Invocation(new Terminal(NOWHERE, NOWHERE), ENVIRONMENT, TypedWords.ofTexts(arguments));
    }

    private static @Nullable String plain(List<String> arguments) {
        PlainRun run = PlainRun.of(arguments, invocation(arguments));
        return run == null ? null : text(run.request());
    }

    /** The run as picocli understands it; null if it refuses. */
    private static @Nullable String full(List<String> arguments) {
        Invocation invocation = invocation(arguments);
        String[] words = arguments.toArray(String[]::new);
        try {
            CommandLine.ParseResult parsed =
                    CommandTree.commandLine(words, invocation).parseArgs(words);
            boolean isRun = parsed.hasSubcommand()
                    && parsed.subcommand().commandSpec().userObject() instanceof RunCommand
                    && !parsed.isUsageHelpRequested()
                    && !parsed.isVersionHelpRequested()
                    && !parsed.subcommand().isUsageHelpRequested()
                    && !parsed.subcommand().isVersionHelpRequested();
            return isRun
                    ? text(((RunCommand) parsed.subcommand().commandSpec().userObject()).request(arguments))
                    : null;
        } catch (ParameterException refused) {
            return null;
        }
    }

    private static String text(LockedRun.Request request) {
        return String.join(
                " | ",
                request.storeUri(),
                request.lock().text() + " " + request.take(),
                request.options().toString(),
                String.valueOf(request.maxWait()),
                request.command().command().texts().toString(),
                request.command().onLost() + " " + request.command().grace() + " "
                        + request.command().ttl() + " " + request.command().strongest(),
                request.conflictExitCode() + " " + request.skipWhenBusy() + " " + request.atLeast() + " "
                        + request.tickets(),
                request.metricsPort() + " " + request.requireContainment() + " " + request.informs());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "run x -- true",
                "run --store memory: x -- true a -- b -n",
                "--store memory: run x -- true",
                "--store=memory: run -q -n x -- true",
                "run x --wait 3s --ttl=20s --grace 2s --at-least=1m -- sh -c :",
                "run -w 5s -E 9 --on-busy=fail --on-lost=KILL --json --metrics=0 --require-containment x -- true",
                "run --no-wait --quiet --on-busy skip x -- true"
            })
    void whatScriptsWriteIsPlainAndMeansTheSame(String line) {
        List<String> arguments = List.of(line.split(" "));
        assertThat(plain(arguments)).isNotNull().isEqualTo(full(arguments));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "run",
                "run x",
                "run x --",
                "run -- true",
                "run x y -- true",
                "run -n -n x -- true",
                "run -n --no-wait x -- true",
                "run -q --quiet x -- true",
                "run -w 5s --wait=3s x -- true",
                "run -E 9 --conflict-exit-code=7 -n x -- true",
                "run --store= x -- true",
                "run --store memory: --store memory: x -- true",
                "--store memory: run --store memory: x -- true",
                "run --no-such x -- true",
                "run --ttl soon x -- true",
                "run --help x -- true",
                "run -nq x -- true",
                "run --no-wait=false x -- true",
                "run --metrics=010 x -- true",
                "run -n -w 5s x -- true",
                "run -- -x -- true",
                "ls -- x"
            })
    void allElseIsLeftToPicocli(String line) {
        assertThat(plain(List.of(line.split(" ")))).isNull();
    }

    @Test
    void wordsThatAreNotTextAreLeftToPicocli() {
        byte[] typed = "run\0?\0--\0true\0".getBytes(StandardCharsets.US_ASCII);
        typed[4] = (byte) 0xff;
        TypedWords words = TypedWords.ofZeroTerminated(typed);
        Invocation invocation = new Invocation(new Terminal(NOWHERE, NOWHERE), ENVIRONMENT, words);
        assertThat(PlainRun.of(words.texts(), invocation)).isNull();
    }

    @Test
    void whateverIsReadPlainlyPicocliReadsAlike() {
        Random random = new Random(18);
        int plain = 0;
        for (int i = 0; i < 4_000; i++) {
            List<String> arguments = arguments(random);
            String read = plain(arguments);
            if (read != null) {
                plain++;
                assertThat(read).as("%s", arguments).isEqualTo(full(arguments));
            }
        }
        assertThat(plain).as("plain ones").isGreaterThan(150);
    }

    /** Mostly in a valid order, since both refuse words in random order. */
    private static List<String> arguments(Random random) {
        List<String> arguments = new ArrayList<>();
        if (random.nextInt(5) == 0) {
            arguments.addAll(List.of("--store", "memory:first"));
        }
        arguments.add("run");
        boolean hasLock = false;
        for (int more = random.nextInt(5); more > 0; more--) {
            if (!hasLock && random.nextInt(4) == 0) {
                arguments.add("x");
                hasLock = true;
            }
            arguments.add(WORDS.get(random.nextInt(WORDS.size())));
        }
        if (!hasLock) {
            arguments.add("x");
        }
        arguments.addAll(List.of("--", "true"));
        if (random.nextInt(3) == 0) {
            arguments.add(WORDS.get(random.nextInt(WORDS.size())));
        }
        return arguments;
    }
}
