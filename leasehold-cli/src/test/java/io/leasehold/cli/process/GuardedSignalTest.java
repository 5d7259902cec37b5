package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.AbstractMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of the signals to the processes that left the group of a command. */
@Timeout(60)
@Tag("quick")
class GuardedSignalTest {

    private static final Duration GRACE = Duration.ofSeconds(2);
    private static final Duration TTL = Duration.ofSeconds(6);

    @TempDir
    private Path directory;

    /** The command {@code timeout} makes its own group, which a signal to the group of the command does not reach. */
    @ParameterizedTest
    @EnumSource(Containment.class)
    @Timeout(20)
    void passesTermOnToAGroupThatTheCommandMade(Containment strongest) throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        assumeTrue(
                lookup.find("timeout") instanceof CommandLookup.Result.Found,
                "timeout is not here: apt-get install coreutils");
        String script = "cd '" + directory
                + "'\ntrap : TERM\ntimeout 300 sh -c 'echo >runs; exec sleep 300'\necho >term\nexit 3";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, strongest);
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            awaitRunning();
            command.deliver(ForwardedSignal.TERM, System.nanoTime());

            GuardedCommand.Ended ended = command.await();

            assertThat(ended.exitCode()).isEqualTo(3);
            assertThat(ended.leftBehind()).isZero();
            assertThat(directory.resolve("term")).exists();
        }
    }

    /** Many programs stop without cleaning up if they receive it twice. */
    @ParameterizedTest
    @EnumSource(Containment.class)
    @Timeout(20)
    void leavesASessionToAParentThatPassesTermOn(Containment strongest) throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        assumeTrue(Files.isReadable(Path.of("/proc/self/status")), "without /proc, no parent is known to do that");
        assumeTrue(
                lookup.find("setsid") instanceof CommandLookup.Result.Found,
                "setsid is not here: apt-get install util-linux");
        // It passes the signal on so late that the child would count a direct one before.
        String script = "cd '" + directory + "'\n"
                + "trap 'sleep 0.3; kill -TERM $(cat child); until [ -s terms ]; do sleep 0.01; done; sleep 0.1;"
                + " echo >done; wait; exit 3' TERM\n"
                + "setsid sh -c 'trap \"echo >>terms\" TERM; echo $$ >pid; mv pid child;"
                + " until [ -e done ]; do sleep 0.01; done' &\n"
                + "until [ -e child ]; do sleep 0.01; done\necho >runs\nwait";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, strongest);
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            awaitRunning();
            command.deliver(ForwardedSignal.TERM, System.nanoTime());

            assertThat(command.await().exitCode()).isEqualTo(3);
            assertThat(Files.readAllLines(directory.resolve("terms"))).hasSize(1);
        }
    }

    /** An empty environment; when it is read, the command is about to be started, and the witness gets a signal. */
    private static final class SignalsTheWitness extends AbstractMap<String, @Nullable String> {

        private boolean sent;
        private long sentAtNanos;

        @Override
        public Set<Map.Entry<String, @Nullable String>> entrySet() {
            if (!sent) {
                sent = true;
                sentAtNanos = System.nanoTime();
                signalTheWitness();
            }
            return Set.of();
        }
    }

    private static void signalTheWitness() {
        ProcessHandle witness = ProcessHandle.current()
                .children()
                .filter(child ->
                        child.info().arguments().map(List::of).orElse(List.of()).contains("leasehold-witness"))
                .findFirst()
                .orElseThrow();
        try {
            new Signals().send("TERM", List.of(witness.pid()));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** A signal to the whole group, as from a keyboard, that comes before the command is in the group. */
    @Test
    @Timeout(20)
    void passesOnWhatTheGroupGotWithoutTheCommand() throws Exception {
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("sleep", "300")), OnLost.TERM, GRACE, TTL, Containment.REMEMBERED);
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(settings, true, lookup)) {
            command.awaitReady();
            SignalsTheWitness environment = new SignalsTheWitness();
            command.start(environment, () -> TimeUnit.HOURS.toNanos(1));
            command.deliverKept(ForwardedSignal.TERM, environment.sentAtNanos);

            assertThat(command.await().exitCode()).isEqualTo(143);
        }
    }

    /** The command received it, too: many programs stop without cleaning up at a second one. */
    @Test
    @Timeout(20)
    void leavesWhatTheGroupGotWithTheCommandToTheGroup() throws Exception {
        String script = "cd '" + directory + "'\ntrap 'exit 9' TERM\necho >runs\n"
                + "until [ -e go ]; do sleep 0.02; done\nexit 3";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, Containment.REMEMBERED);
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(settings, true, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            awaitRunning();
            // A signal may have come a little before it was noted, and so before the command.
            Thread.sleep(100);
            long atNanos = System.nanoTime();
            signalTheWitness();
            command.deliverKept(ForwardedSignal.TERM, atNanos);
            Files.createFile(directory.resolve("go"));

            assertThat(command.await().exitCode()).isEqualTo(3);
        }
    }

    /** The witness has forgotten the first signal, and has a record of the second, which the command received. */
    @Test
    @Timeout(20)
    void aSignalBeforeTheStartIsNotTakenForALaterOne() throws Exception {
        String script = "cd '" + directory + "'\ntrap 'echo >>terms' TERM\necho >runs\n"
                + "until [ -e go ]; do sleep 0.02; done\nexit 3";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, Containment.REMEMBERED);
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(settings, true, lookup)) {
            command.awaitReady();
            long beforeTheStart = System.nanoTime();
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            awaitRunning();
            signalTheWitness();
            command.deliverKept(ForwardedSignal.TERM, beforeTheStart);
            command.deliver(ForwardedSignal.TERM, System.nanoTime());
            while (!Files.exists(directory.resolve("terms"))) {
                Thread.sleep(5);
            }
            Files.createFile(directory.resolve("go"));

            assertThat(command.await().exitCode()).isEqualTo(3);
            assertThat(Files.readAllLines(directory.resolve("terms"))).hasSize(1);
        }
    }

    private void awaitRunning() throws InterruptedException {
        while (!Files.exists(directory.resolve("runs"))) {
            Thread.sleep(5);
        }
    }
}
