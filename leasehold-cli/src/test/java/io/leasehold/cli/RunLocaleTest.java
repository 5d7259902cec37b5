package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that names and arguments are the typed bytes in every locale. The shell's {@code printf(1)} writes the words,
 * so that the locale of these tests does not matter either.
 */
@Tag("full")
class RunLocaleTest {

    /** A word in Latin-1 that is not valid UTF-8. */
    private static final String LATIN = "$(printf 't\\374r')";

    private static final String UE = "$(printf 't\\303\\274r')";
    private static final String OE = "$(printf 't\\303\\266r')";

    private static final String NOT_INSTALLED = "xx_XX.UTF-8";
    private static final String PLAIN = "POSIX";

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;
    private int scripts;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    /** The program with these words as a shell command. */
    private String program(String locale, String words) {
        scripts++;
        return StartedCli.script(
                directory,
                "run" + scripts,
                "export LC_ALL=" + locale + "\nexec " + String.join(" ", StartedCli.javaCommand()) + " " + words);
    }

    private StartedCli run(String locale, String words) {
        StartedCli started = cli.startScript(program(locale, words));
        started.exitCode();
        return started;
    }

    @ParameterizedTest
    @ValueSource(strings = {NOT_INSTALLED, PLAIN})
    void aNameIsOneLockInEveryLocaleAndNoOther(String locale) {
        try (StartedCli holds = cli.startScript(program(
                locale, "run \"" + UE + "\" -- sh -c 'touch ready; while ! [ -e done ]; do sleep 0.05; done'"))) {
            Await.until(holds::err, () -> Files.exists(directory.resolve("ready")));

            assertThat(run("C.UTF-8", "run -n \"" + UE + "\" -- true").exitCode())
                    .as("the same lock in another locale")
                    .isEqualTo(ExitCode.BUSY.code());
            assertThat(run(locale, "run -n \"" + UE + "\" -- true").exitCode())
                    .as("the same lock")
                    .isEqualTo(ExitCode.BUSY.code());
            StartedCli other = run(locale, "run -n \"" + OE + "\" -- true");
            assertThat(other.exitCode()).as("another lock; " + other.err()).isZero();
            StartedCli shown = run(locale, "show \"" + UE + "\"");
            assertThat(shown.out()).contains("t\u00fcr");

            StartedCli.shell("touch '" + directory.resolve("done") + "'");
            assertThat(holds.exitCode()).as(holds::err).isZero();
        }
    }

    /** Each way: with and without Perl, with and without the process that adopts orphans. */
    @ParameterizedTest
    @ValueSource(strings = {"cgroup", "reaper", "no perl"})
    void theCommandGetsTheBytesThatWereTyped(String way) {
        String setting = way.equals("no perl")
                ? "PATH='" + StartedCli.pathWithout("perl") + "' LEASEHOLD_CONTAINMENT=remembered"
                : "LEASEHOLD_CONTAINMENT=" + way;
        String words = "\"" + UE + "\" \"" + LATIN + "\" '' 'a b' \"$(printf 'n\\nl')\" '%s\\041$HOME'";
        String command = StartedCli.script(
                directory, "tells", "printf '%s|' \"$@\" \"$LEASEHOLD_LOCK\" \"$LC_ALL\" >got; exit 3");
        StartedCli.script(directory, "wanted", "printf '%s|' " + words + " \"" + UE + "\" " + NOT_INSTALLED + " >want");
        StartedCli.shell("cd '" + directory + "' && ./wanted");

        StartedCli.script(
                directory,
                "with",
                "export " + setting + "\nexec '"
                        + program(NOT_INSTALLED, "run \"" + UE + "\" -- '" + command + "' " + words) + "'");
        StartedCli run = cli.startScript(directory.resolve("with").toString());

        assertThat(run.exitCode()).as(run::err).isEqualTo(3);
        assertThat(directory.resolve("got")).hasSameBinaryContentAs(directory.resolve("want"));
        assertThat(run.err()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"C.UTF-8", PLAIN})
    void aNameThatIsNoTextIsRefused(String locale) {
        StartedCli run = run(locale, "run --json \"" + LATIN + "\" -- touch ran");

        assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(run.err()).contains("\"outcome\":\"usage\"", "is not valid UTF-8");
        assertThat(directory.resolve("ran")).doesNotExist();
        assertThat(run(locale, "show \"" + LATIN + "\"").exitCode()).isEqualTo(ExitCode.USAGE.code());
    }

    @Test
    void aNameBehindDashesThatIsNoTextIsRefused() {
        StartedCli run = run("C.UTF-8", "run --json -- \"" + LATIN + "\" -- touch ran");

        assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(run.err()).contains("\"outcome\":\"usage\"", "is not valid UTF-8");
        assertThat(directory.resolve("ran")).doesNotExist();
        assertThat(run("C.UTF-8", "show -- \"" + LATIN + "\"").exitCode()).isEqualTo(ExitCode.USAGE.code());
    }

    @Test
    void aStoreThatIsNoTextIsRefused() {
        String latin = "LEASEHOLD_STORE=\"sqlite:" + directory + "/" + LATIN + ".db\"";
        StartedCli.script(
                directory,
                "with",
                "export " + latin + "\nexec '" + program("C.UTF-8", "run --json job -- touch ran") + "'");
        StartedCli run = cli.startScript(directory.resolve("with").toString());

        assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(run.err()).contains("\"outcome\":\"usage\"", "is not valid UTF-8");
        assertThat(directory.resolve("ran")).doesNotExist();
    }

    /** Otherwise {@code t??r} would be created next to it, and a run in another locale would use another file. */
    @Test
    void aStoreThatTheLocaleCannotSpellIsRefused() {
        StartedCli whole = run(PLAIN, "--store \"sqlite:" + directory + "/" + UE + ".db\" run job -- touch ran");
        StartedCli.script(
                directory,
                "with",
                "mkdir \"" + UE + "\" && cd \"" + UE + "\" && exec '"
                        + program(PLAIN, "--store sqlite:here.db run job -- touch ran") + "'");
        StartedCli relative = cli.startScript(directory.resolve("with").toString());

        assertThat(whole.exitCode()).as(whole::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(relative.exitCode()).as(relative::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(StartedCli.shell("ls '" + directory + "'")).doesNotContain("?r", "ran");
    }
}
