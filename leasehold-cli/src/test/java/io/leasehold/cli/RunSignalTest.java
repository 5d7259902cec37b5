package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that signals reach the command, and end a wait without leaving a lock held. */
@Tag("full")
class RunSignalTest {

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"));
    }

    private void awaitFile(String name, StartedCli by) {
        Await.until(() -> name + "; stderr: " + by.err(), () -> Files.exists(directory.resolve(name)));
    }

    @ParameterizedTest
    @CsvSource({"INT,10", "TERM,11", "HUP,12", "USR1,13"})
    void forwardsSignalsToTheCommand(String signal, int code) {
        String script = StartedCli.script(
                directory,
                "command",
                "trap 'exit " + code + "' " + signal + "\ntouch ready\nwhile :; do sleep 0.05; done");
        try (StartedCli run = cli.start("run", "job", "--", script)) {
            awaitFile("ready", run);
            run.signal(signal);

            assertThat(run.exitCode()).isEqualTo(code);
            // A shell may report that its own child, which also received the signal, was terminated.
            assertThat(run.err()).doesNotContain("leasehold:");
        }
    }

    /** The signal is ignored as by {@code nohup}. */
    @ParameterizedTest
    @ValueSource(strings = {"INT", "TERM", "HUP", "USR1"})
    void whatWasIgnoredStaysSoForTheCommandToo(String signal) {
        String ignores = StartedCli.script(
                directory,
                "ignores",
                "trap '' " + signal + "\nexec "
                        + String.join(" ", StartedCli.javaCommand()).replaceFirst("^env --default-signal ", "")
                        + " run job -- sh -c 'kill -" + signal + " $$; exit 3'");
        try (StartedCli run = cli.startScript(ignores)) {
            assertThat(run.exitCode()).as(run::err).isEqualTo(3);
        }
    }

    @Test
    void forwardsTermToEverythingTheCommandStarted() {
        String inner = StartedCli.script(
                directory, "inner", "trap 'touch inner-ended; exit 0' TERM\ntouch ready\nwhile :; do sleep 0.05; done");
        try (StartedCli run = cli.start("run", "job", "--", "sh", "-c", "'" + inner + "' & wait")) {
            awaitFile("ready", run);
            run.signal("TERM");

            assertThat(run.exitCode()).isEqualTo(143);
            awaitFile("inner-ended", run);
        }
    }

    /** Both runs see the process; the inner one passes the signal on. */
    @ParameterizedTest
    @ValueSource(strings = {"INT", "TERM"})
    void theCommandOfANestedRunReceivesASignalOnce(String signal) throws Exception {
        String script = StartedCli.script(
                directory,
                "command",
                "trap 'echo >>received' " + signal + "\ntouch ready\nuntil [ -e done ]; do sleep 0.01; done\nexit 5");
        List<String> words = new ArrayList<>(List.of("run", "outer", "--"));
        words.addAll(StartedCli.javaCommand());
        words.addAll(List.of("run", "inner", "--", script));
        try (StartedCli run = cli.start(words.toArray(String[]::new))) {
            awaitFile("ready", run);
            run.signal(signal);
            awaitFile("received", run);
            // A second one would come about now.
            Thread.sleep(1_000);
            Files.createFile(directory.resolve("done"));

            assertThat(run.exitCode()).as(run::err).isEqualTo(5);
            assertThat(StartedCli.read(directory.resolve("received")).lines()).hasSize(1);
        }
    }

    @ParameterizedTest
    @CsvSource({"INT,130", "TERM,143", "HUP,129", "USR1,138"})
    void stopsWaitingOnASignalAndLeavesNothingHeld(String signal, int code) {
        try (StartedCli holder = cli.start("run", "job", "--", "sh", "-c", "touch held; exec sleep 300")) {
            awaitFile("held", holder);
            try (StartedCli waiter = cli.start("run", "job", "--", "touch", "ran");
                    StartedCli next = cli.start("run", "job", "--", "touch", "next")) {
                awaitWaiting(waiter);
                waiter.signal(signal);

                assertThat(waiter.exitCode()).isEqualTo(code);
                assertThat(waiter.errLines())
                        .singleElement()
                        .asString()
                        .contains(
                                "stopped by SIG" + signal + " while waiting for lock \"job\"",
                                "was not run and nothing is held");
                assertThat(directory.resolve("ran")).doesNotExist();
                holder.signal("TERM");
                assertThat(next.exitCode()).isZero();
                assertThat(directory.resolve("next")).exists();
            }
        }
    }

    static void awaitWaiting(StartedCli waiter) {
        String stack = Path.of(System.getProperty("java.home"), "bin", "jstack") + " " + waiter.pid();
        Await.until(
                () -> "the waiter to wait; stderr: " + waiter.err(),
                () -> StartedCli.shell(stack).contains("CompletableFuture.get"));
    }

    @Test
    void lettingGoEndsAtLeast() {
        try (StartedCli run = cli.start("run", "--at-least=1h", "job", "--", "touch", "ran")) {
            awaitFile("ran", run);
            Await.until("the command to be collected", () -> {
                run.signal("TERM");
                return !run.isAlive();
            });

            assertThat(run.exitCode()).isIn(0, 143);
            assertThat(cli.run("run", "-n", "job", "--", "true").exitCode()).isZero();
        }
    }
}
