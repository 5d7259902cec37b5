package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests of {@code watch} and other tables at a real pseudo-terminal: the state in which they leave it, keys and
 * colours.
 */
@Tag("full")
class WatchTerminalTest {

    private static final String TAKES_THE_SCREEN = "\033[?1049h\033[?25l\033[?7l";
    private static final String GIVES_IT_BACK = "\033[?7h\033[?25h\033[?1049l";
    private static final String COLOUR = "\033[3";
    private static final String BOLD = "\033[1m";

    @TempDir
    private Path directory;

    private String store;

    @BeforeEach
    void useAStoreOfOurOwn() throws InterruptedException {
        Pty.needsScript();
        store = "sqlite:" + directory.resolve("locks.db");
        try (LockClient locks = Leasehold.connect(store)) {
            locks.named("other").acquire().release();
        }
    }

    private Pty pty(String command, Map<String, String> more) throws IOException {
        Map<String, String> environment =
                new HashMap<>(Map.of("LEASEHOLD_STORE", store, "TERM", "xterm", "NO_COLOR", ""));
        environment.putAll(more);
        return new Pty(directory, command, environment);
    }

    /**
     * Reads the settings of the terminal before and after the program, which only Ctrl-C ends, and prints the exit
     * code.
     */
    private String around(String arguments) {
        return StartedCli.script(
                directory,
                "around",
                "trap : INT\nstty -g >before\n" + String.join(" ", StartedCli.javaCommand()) + " " + arguments
                        + "\ncode=$?\nstty -g >after\nexit $code");
    }

    private void assertLeftClean(Pty pty) {
        assertThat(StartedCli.read(directory.resolve("after")))
                .isNotEmpty()
                .isEqualTo(StartedCli.read(directory.resolve("before")));
        String screen = pty.screen();
        assertThat(screen.lastIndexOf(GIVES_IT_BACK))
                .as(screen)
                .isGreaterThan(screen.lastIndexOf(TAKES_THE_SCREEN))
                .isGreaterThan(screen.lastIndexOf("\033[H"));
    }

    /** The keys are q, Q and Ctrl-C. */
    @ParameterizedTest
    @CsvSource({"113,0", "81,0", "3,130"})
    void leavesTheTerminalAsItWas(int key, int code) throws Exception {
        try (LockClient locks = Leasehold.connect(store);
                Lease lease = locks.named("job").acquire();
                Pty pty = pty(around("watch --interval 100ms"), Map.of())) {
            // The heading may come before the rest of the screen.
            Await.until(
                    pty::screen,
                    () -> pty.screen().contains("1 held  (q quits)")
                            && pty.screen().contains("WAITERS"));
            assertThat(pty.screen()).contains(TAKES_THE_SCREEN).containsPattern("LOCK +USER +COMMAND +SINCE +WAITERS");
            assertThat(lease.isValid()).isTrue();
            pty.type(Character.toString(key));

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(code);
            assertLeftClean(pty);
        }
    }

    @Test
    void leavesTheTerminalAsItWasWhenItIsEndedBySignal() throws Exception {
        try (Pty pty = pty(around("watch --interval 100ms"), Map.of())) {
            Await.until(pty::screen, () -> pty.screen().contains("0 held"));
            ProcessHandle.current()
                    .descendants()
                    .filter(process -> process.info().command().orElse("").endsWith("/java"))
                    .forEach(ProcessHandle::destroy);

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(143);
            assertLeftClean(pty);
        }
    }

    /** It reaches all processes of the terminal's foreground, and so the program that restores the settings. */
    @Test
    void aSecondControlCDoesNotKeepTheTerminalFromBeingRestored() throws Exception {
        Path programs = Files.createDirectories(directory.resolve("programs"));
        StartedCli.script(
                programs,
                "stty",
                "case $1 in\n-* | size) ;;\n*) kill -s INT 0; sleep 0.2 ;;\nesac\nPATH=${PATH#*:} exec stty \"$@\"");
        try (Pty pty = pty(around("watch --interval 100ms"), Map.of("PATH", programs + ":" + System.getenv("PATH")))) {
            Await.until(pty::screen, () -> pty.screen().contains("0 held"));
            pty.type("\003");

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(130);
            assertLeftClean(pty);
        }
    }

    /** What is written beside the screen is covered, or erased by the next draw. */
    @Test
    void showsItsRemarksOnTheScreen() throws Exception {
        try (LockClient locks = Leasehold.connect(store);
                Lease one = locks.named("one").acquire();
                Lease two = locks.named("two").acquire();
                Pty pty = pty(around("watch --interval 100ms --metrics 0 --limit 1"), Map.of())) {
            Await.until(pty::screen, () -> pty.screen().split("\033\\[H", -1).length > 3);
            pty.type("q");
            assertThat(pty.exitCode()).as(pty::screen).isZero();
            String screen = pty.screen();
            String last = screen.substring(screen.lastIndexOf("\033[H"));
            assertThat(last)
                    .contains("more than 1 held", "more than 1: raise --limit")
                    .containsPattern("metrics at http://127.0.0.1:[1-9][0-9]*/metrics");
            assertThat(one.isValid() && two.isValid()).isTrue();
            assertLeftClean(pty);
        }
    }

    @Test
    void givesTheTerminalBackWhileItIsStopped() throws Exception {
        String java = StartedCli.script(
                directory,
                "watching",
                "exec " + String.join(" ", StartedCli.javaCommand()) + " watch --interval 100ms");
        try (Pty pty = pty("bash --norc -i", Map.of())) {
            pty.type("stty -g >before; " + java + "\r");
            Await.until(pty::screen, () -> pty.screen().contains("0 held"));
            pty.type("\u001a");
            Await.until(pty::screen, () -> pty.screen().contains("Stopped"));
            assertThat(pty.screen()).contains(GIVES_IT_BACK);
            String stopped = pty.screen();
            pty.type("fg\r");
            Await.until(pty::screen, () -> pty.screen().lastIndexOf(TAKES_THE_SCREEN) > stopped.length());
            pty.type("q");
            // Input that is typed before the shell's prompt may be lost.
            Await.until(
                    pty::screen,
                    () -> pty.screen()
                            .substring(pty.screen().lastIndexOf(TAKES_THE_SCREEN))
                            .contains("bash-"));
            pty.type("echo code=$?; stty -g >after; exit\r");

            pty.exitCode();
            assertThat(pty.screen()).contains("code=0");
            assertLeftClean(pty);
        }
    }

    /** Its last output stays readable. */
    @Test
    void leavesItsLastTableIfItEndsByItself() throws Exception {
        try (Pty pty = pty(around("watch --count 2 --interval 100ms"), Map.of())) {
            assertThat(pty.exitCode()).as(pty::screen).isZero();
            assertLeftClean(pty);
            String screen = pty.screen();
            assertThat(screen.substring(screen.lastIndexOf(GIVES_IT_BACK)))
                    .contains("0 held", "LOCK")
                    .doesNotContain("q quits");
        }
    }

    @Test
    void coloursWhatIsNew() throws Exception {
        try (LockClient locks = Leasehold.connect(store);
                Pty pty = pty(around("watch --interval 100ms"), Map.of())) {
            Await.until(pty::screen, () -> pty.screen().contains("0 held"));
            assertThat(pty.screen()).contains(BOLD).doesNotContain(COLOUR);
            try (Lease lease = locks.named("job").acquire()) {
                Await.until(pty::screen, () -> pty.screen().contains(COLOUR + "2mjob"));
                assertThat(lease.isValid()).isTrue();
            }
            pty.type("q");
            assertThat(pty.exitCode()).as(pty::screen).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({"NO_COLOR,1", "TERM,dumb"})
    void hasNoColoursWhereTheyAreNotWanted(String variable, String value) throws Exception {
        try (LockClient locks = Leasehold.connect(store);
                Lease lease = locks.named("job").acquire();
                Pty pty = pty(
                        around("doctor; " + String.join(" ", StartedCli.javaCommand()) + " who job"),
                        Map.of(variable, value))) {
            pty.exitCode();
            assertThat(pty.screen()).contains("GRADE", "health").doesNotContain("\033");
            assertThat(lease.isValid()).isTrue();
        }
    }

    @Test
    void hasColoursOnATerminalAlone() throws Exception {
        try (LockClient locks = Leasehold.connect(store);
                Lease lease = locks.named("job").acquire();
                Pty pty = pty(around("doctor"), Map.of())) {
            pty.exitCode();
            assertThat(pty.screen()).contains(BOLD, COLOUR + "2mgood");
            StartedCli plain = new StartedCli.Setup(directory)
                    .with("LEASEHOLD_STORE", store)
                    .with("TERM", "xterm")
                    .run("doctor");
            assertThat(plain.out()).contains("good").doesNotContain("\033");
            assertThat(lease.isValid()).isTrue();
        }
    }
}
