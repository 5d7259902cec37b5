package io.leasehold.cli.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Starts commands with the exact bytes of their arguments, which a JVM cannot do in every locale: through Perl, which can also
 * start a process above the command that adopts orphans, or through the shell. Each replaces itself by the command, which keeps the process id.
 */
final class ExactStart {

    private static final int PATIENCE_SECONDS = 10;

    /** Perl complains of a locale that is not installed unless this says 0. */
    private static final String PERL_BADLANG = "PERL_BADLANG";

    /** The number of the system call {@code prctl}. */
    private static final Map<String, Integer> PRCTL = Map.of(
            "amd64",
            157,
            "aarch64",
            167,
            "riscv64",
            167,
            "loongarch64",
            167,
            "ppc64le",
            171,
            "s390x",
            172,
            "arm",
            172,
            "i386",
            172);

    /** The script's variables have names that no caller exports: the shell would export their new values. */
    private static final String BY_SHELL = """
            _leasehold_n=$1
            shift
            while [ "$_leasehold_n" -gt 0 ]; do
              _leasehold_p=$(printf "$1.")
              _leasehold_p=${_leasehold_p%.}
              case $_leasehold_p in
                *=*) export "$_leasehold_p" ;;
                *) unset "$_leasehold_p" ;;
              esac
              shift
              _leasehold_n=$((_leasehold_n - 1))
            done
            _leasehold_n=$#
            while [ "$_leasehold_n" -gt 0 ]; do
              _leasehold_p=$(printf "$1.")
              shift
              set -- "$@" "${_leasehold_p%.}"
              _leasehold_n=$((_leasehold_n - 1))
            done
            exec "$@"
            """;

    private final @Nullable Path perl;

    private ExactStart(@Nullable Path perl) {
        this.perl = perl;
    }

    /** Finds the best available way. */
    static ExactStart find(CommandLookup lookup) {
        return new ExactStart(lookup.find("perl") instanceof CommandLookup.Result.Found found ? found.path() : null);
    }

    /** Whether a process above the command can adopt orphans; asks the kernel. */
    boolean adopts() {
        Integer prctl = PRCTL.get(System.getProperty("os.arch", ""));
        if (perl == null || prctl == null || !System.getProperty("os.name", "").equals("Linux")) {
            return false;
        }
        String script = "require POSIX; exit(syscall(" + prctl + ", 36, 1, 0, 0, 0) == 0 ? 0 : 1)";
        try {
            Process probe = new ProcessBuilder(perl.toString(), "-e", script)
                    .redirectInput(ProcessBuilder.Redirect.PIPE)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            probe.getOutputStream().close();
            if (probe.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                return probe.exitValue() == 0;
            }
            probe.destroyForcibly();
        } catch (IOException noPerl) {
            // It cannot be started.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return false;
    }

    /**
     * Prepares the start below a process that adopts orphans, which does not receive the changes to the environment.
     *
     * @param ownSession whether the command leads its own session and group
     */
    void below(
            ProcessBuilder builder, boolean ownSession, Map<String, @Nullable String> environment, TypedWords words) {
        Integer prctl = PRCTL.get(System.getProperty("os.arch", ""));
        byPerl(builder, prctl == null ? 0 : prctl, ownSession, environment, words);
    }

    /** Prepares the start with these changes to the environment; null removes a variable. */
    void plain(ProcessBuilder builder, Map<String, @Nullable String> environment, TypedWords words) {
        if (perl != null) {
            byPerl(builder, 0, false, environment, words);
            return;
        }
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", BY_SHELL, "sh"));
        command.add(Integer.toString(environment.size()));
        command.addAll(pieces(environment).octal());
        command.addAll(words.octal());
        builder.command(command);
    }

    private void byPerl(
            ProcessBuilder builder,
            int prctl,
            boolean ownSession,
            Map<String, @Nullable String> environment,
            TypedWords words) {
        Map<String, @Nullable String> changes = new HashMap<>(environment);
        changes.putIfAbsent(PERL_BADLANG, builder.environment().get(PERL_BADLANG));
        builder.environment().put(PERL_BADLANG, "0");
        List<String> command = new ArrayList<>(List.of(String.valueOf(perl), "-e", script(), "--"));
        command.add(Integer.toString(prctl));
        command.add(ownSession ? "1" : "0");
        // The length of an argument is limited, and digits take twice the space.
        boolean asTheyAre = words.areSpelledByThisJvm();
        command.add(asTheyAre ? "0" : "1");
        command.addAll(pieces(changes).hex());
        command.add("--");
        command.addAll(asTheyAre ? words.texts() : words.hex());
        builder.command(command);
    }

    private static TypedWords pieces(Map<String, @Nullable String> environment) {
        List<String> pieces = new ArrayList<>();
        environment.forEach((name, value) -> pieces.add(value == null ? name : name + "=" + value));
        return TypedWords.ofTexts(pieces);
    }

    private static String script() {
        try (InputStream in = ExactStart.class.getResourceAsStream("start.pl")) {
            if (in == null) {
                throw new IllegalStateException("the resource start.pl is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
