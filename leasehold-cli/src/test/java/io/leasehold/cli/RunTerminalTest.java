package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests at a real pseudo-terminal, created by {@code script(1)}: the keyboard reaches the command once, and jobs can be
 * stopped.
 */
@Tag("full")
class RunTerminalTest {

    private static final String CTRL_C = "\u0003";
    private static final String CTRL_Z = "\u001a";

    /** Counts interrupts, and ends some time after the first. */
    private static final String COUNTS = """
            trap 'echo INT >> ints' INT
            touch ready
            rest=100
            while [ $rest -gt 0 ]; do
              sleep 0.02
              if [ -e ints ]; then rest=$((rest - 1)); fi
            done
            exit 7
            """;

    /** Forks nothing once it is ready: a shell whose child is stopped between vfork and exec hangs instead of stopping. */
    private static final String WAITS_TO_GO = "mkfifo go\n: >ready\nread -r word <go\n";

    @TempDir
    private Path directory;

    @BeforeEach
    void needsScript() {
        Pty.needsScript();
        assumeTrue(Files.isExecutable(Path.of("/bin/bash")), "bash, whose job control is tested, is not here");
    }

    private Pty pty(String command) throws IOException {
        return new Pty(directory, command, Map.of("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db")));
    }

    /** Uses a script, since a terminal accepts no line of more than 4095 characters, and a class path is long. */
    private String run(String... rest) {
        String starts = "exec " + String.join(" ", StartedCli.javaCommand()) + " run \"$@\"";
        return StartedCli.script(directory, "leasehold", starts) + " " + String.join(" ", rest);
    }

    private void awaitFile(String name, Pty pty) {
        Await.until(() -> name + "; screen: " + pty.screen(), () -> Files.exists(directory.resolve(name)));
    }

    @Test
    void controlCInterruptsTheCommandOnce() throws Exception {
        String command = StartedCli.script(directory, "counts", COUNTS);
        try (Pty pty = pty(run("job", "--", command))) {
            awaitFile("ready", pty);
            pty.type(CTRL_C);

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(7);
            assertThat(StartedCli.read(directory.resolve("ints"))).isEqualTo("INT\n");
        }
    }

    @Test
    void andTheNextOnceMore() throws Exception {
        String command = StartedCli.script(directory, "counts", COUNTS);
        Path ints = directory.resolve("ints");
        try (Pty pty = pty(run("job", "--", command))) {
            awaitFile("ready", pty);
            pty.type(CTRL_C);
            awaitFile("ints", pty);
            pty.type(CTRL_C);

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(7);
            assertThat(StartedCli.read(ints)).isEqualTo("INT\nINT\n");
        }
    }

    @Test
    void anInterruptForTheProgramAloneIsPassedOn() throws Exception {
        String command = StartedCli.script(directory, "counts", COUNTS);
        try (Pty pty = pty(run("job", "--", command))) {
            awaitFile("ready", pty);
            StartedCli.shell("kill -s INT $(pgrep -f '^[^ ]*/bin/java .*cli[.]Main run job -- " + command + "')");

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(7);
            assertThat(StartedCli.read(directory.resolve("ints"))).isEqualTo("INT\n");
        }
    }

    /** The line is written once, and only to a terminal. */
    @Test
    void saysThatAProcessCouldGetLost() throws Exception {
        String run = StartedCli.script(
                directory, "weak", "export LEASEHOLD_CONTAINMENT=remembered; exec " + run("job", "--", "true"));
        try (Pty pty = pty(run)) {
            assertThat(pty.exitCode()).as(pty::screen).isZero();
            assertThat(pty.screen().split("--require-containment", -1)).hasSize(2);
        }
        assertThat(StartedCli.shell(run)).isEmpty();
    }

    @Test
    void aWaiterSaysWhomItWaitsForAndClearsThat() throws Exception {
        StartedCli.Setup cli =
                new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        try (StartedCli holder =
                cli.start("run", "job", "--", "sh", "-c", "touch ready; until [ -e end ]; do sleep 0.1; done")) {
            Await.until(holder::err, () -> Files.exists(directory.resolve("ready")));
            try (Pty pty = pty(run("job", "--", "echo", "done"))) {
                Await.until(pty::screen, () -> pty.screen().contains("/" + holder.pid() + "/"));
                assertThat(pty.screen()).contains("waiting for job: held by ");
                Files.createFile(directory.resolve("end"));

                assertThat(pty.exitCode()).as(pty::screen).isZero();
                assertThat(pty.screen()).contains("\r\033[Kdone");
            }
        }
    }

    /** The holders change while it waits: one of two permits is returned, and the run takes both. */
    @Test
    void aWaiterSaysWhoIsLeft() throws Exception {
        StartedCli.Setup cli =
                new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        String holds = "touch $1; until [ -e end-of-$1 ]; do sleep 0.1; done";
        try (StartedCli one = cli.start("run", "--permit=2", "pool", "--", "sh", "-c", holds, "sh", "one");
                StartedCli two = cli.start("run", "--permit=2", "pool", "--", "sh", "-c", holds, "sh", "two")) {
            Await.until(one::err, () -> Files.exists(directory.resolve("one")));
            Await.until(two::err, () -> Files.exists(directory.resolve("two")));
            try (Pty pty = pty(run("--permit=2", "--take=2", "pool", "--", "echo", "done"))) {
                Await.until(pty::screen, () -> pty.screen().contains("waiting for pool: 2 held, "));
                Files.createFile(directory.resolve("end-of-one"));
                Await.until(pty::screen, () -> pty.screen().contains("waiting for pool: 1 held, "));
                Files.createFile(directory.resolve("end-of-two"));

                assertThat(pty.exitCode()).as(pty::screen).isZero();
            }
        }
    }

    /** Such as that of an editor: an escape sequence would be shown as text, every two seconds once more. */
    @Test
    void aWaiterWritesOnePlainLineToATerminalThatCannotReplaceIt() throws Exception {
        StartedCli.Setup cli =
                new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
        try (StartedCli holder =
                cli.start("run", "job", "--", "sh", "-c", "touch ready; until [ -e end ]; do sleep 0.1; done")) {
            Await.until(holder::err, () -> Files.exists(directory.resolve("ready")));
            String dumb = StartedCli.script(directory, "dumb", "export TERM=dumb; exec " + run("job", "--", "true"));
            try (Pty pty = pty(dumb)) {
                Await.until(pty::screen, () -> pty.screen().contains("/" + holder.pid() + "/"));
                // Longer than until a second line.
                Thread.sleep(3_000);
                Files.createFile(directory.resolve("end"));

                assertThat(pty.exitCode()).as(pty::screen).isZero();
                assertThat(pty.screen().lines())
                        .singleElement()
                        .asString()
                        .startsWith("leasehold: waiting for job: held by ")
                        .doesNotContain("\033");
            }
        }
    }

    @Test
    void theCommandMayReadFromTheTerminal() throws Exception {
        String command =
                StartedCli.script(directory, "asks", "touch ready; read -r word </dev/tty; echo \"got $word\"");
        try (Pty pty = pty(run("job", "--", command))) {
            awaitFile("ready", pty);
            pty.type("hello\r");

            assertThat(pty.exitCode()).isZero();
            assertThat(pty.screen()).contains("got hello");
        }
    }

    @Test
    void aStoppedJobGoesOnInTheForeground() throws Exception {
        String command = StartedCli.script(directory, "works", WAITS_TO_GO + "exit 5");
        try (Pty pty = pty("bash --norc -i")) {
            pty.type(run("job", "--", command) + "\r");
            awaitFile("ready", pty);
            pty.type(CTRL_Z);
            awaitStopped(command);
            pty.type("(echo >go &); fg; echo code=$?; exit\r");

            pty.exitCode();
            assertThat(pty.screen())
                    .contains("code=5")
                    .containsPattern("leasehold: stopped: the lease on \"job\" ends in [0-9.]+s, at [0-9:]+, unless");
        }
    }

    @Test
    void aStoppedJobThatIsQuietSaysNothing() throws Exception {
        String command = StartedCli.script(directory, "works", WAITS_TO_GO + "exit 5");
        try (Pty pty = pty("bash --norc -i")) {
            pty.type(run("--quiet", "job", "--", command) + "\r");
            awaitFile("ready", pty);
            pty.type(CTRL_Z);
            awaitStopped(command);
            pty.type("(echo >go &); fg; echo code=$?; exit\r");

            pty.exitCode();
            assertThat(pty.screen()).contains("code=5").doesNotContain("leasehold: stopped");
        }
    }

    /** The command of a remote shell: no process could continue it, so the system does not stop it. */
    @Test
    void whatNobodyCouldLetGoOnIsNotStopped() throws Exception {
        String command = StartedCli.script(directory, "works", WAITS_TO_GO + "exit 5");
        try (Pty pty = pty(run("job", "--", command))) {
            awaitFile("ready", pty);
            pty.type(CTRL_Z);
            Files.writeString(directory.resolve("go"), "go\n");

            assertThat(pty.exitCode()).as(pty::screen).isEqualTo(5);
            assertThat(pty.screen()).doesNotContain("leasehold: stopped");
        }
    }

    @Test
    void aStoppedJobDoesNotOutliveItsLease() throws Exception {
        String command = StartedCli.script(directory, "works", "trap '' TERM\n" + WAITS_TO_GO);
        try (Pty pty = pty("bash --norc -i")) {
            pty.type(run("--ttl=3s", "job", "--", command) + "\r");
            awaitFile("ready", pty);
            pty.type(CTRL_Z);
            awaitStopped(command);

            StartedCli next = new StartedCli.Setup(directory)
                    .with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"))
                    .run("run", "job", "--", "pgrep", "-f", "^/bin/sh " + command);

            assertThat(next.exitCode()).as("pgrep found nothing").isEqualTo(1);
            pty.type("fg; echo code=$?; exit\r");
            pty.exitCode();
            assertThat(pty.screen()).contains("code=76");
        }
    }

    private static void awaitStopped(String command) {
        List<String> patterns = List.of("^/bin/sh " + command, "cli[.]Main run .*" + command);
        for (String pattern : patterns) {
            Await.until(
                    pattern + " to be stopped",
                    () -> StartedCli.shell("ps -o stat= -p $(pgrep -d, -f '" + pattern + "')")
                            .startsWith("T"));
        }
    }
}
