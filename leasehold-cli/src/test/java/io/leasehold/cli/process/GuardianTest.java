package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.cli.StartedCli;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the guardian's script after the death of the process that started it. */
@Tag("full")
@Timeout(120)
class GuardianTest {

    private static final String NOBODY = "65534";

    @TempDir
    private Path directory;

    /** As the user nobody, it may not signal a process of root. */
    @Test
    void saysNothingWhileSomethingLivesThatItCannotKill() throws IOException, InterruptedException {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        assumeTrue(
                lookup.find("setpriv") instanceof CommandLookup.Result.Found
                        && System.getProperty("user.name").equals("root"),
                "only root may become another user, by setpriv: apt-get install util-linux, and run the tests as root");
        Path life = directory.resolve("life");
        Files.writeString(life, "c");
        Process alive = new ProcessBuilder("sleep", "300").start();
        Process guardian = guardianAsNobody();
        try (OutputStream pipe = guardian.getOutputStream()) {
            String lines = "child " + alive.pid() + " " + start(alive.pid()) + "\nlife " + life + "\n";
            pipe.write(lines.getBytes(StandardCharsets.US_ASCII));
        }

        assertThat(guardian.waitFor(3, TimeUnit.SECONDS)).as("it waits").isFalse();
        assertThat(life).hasContent("c");

        alive.destroyForcibly().waitFor();
        assertThat(guardian.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(life).hasContent("ce");
    }

    /** Such a process appears as a zombie, and continues in its other threads. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endsWhatGoesOnWithoutItsFirstThread(boolean awk) throws IOException, InterruptedException {
        Path life = directory.resolve("life");
        Files.writeString(life, "c");
        Process headless = new ProcessBuilder(Headless.command(directory.resolve("runs"))).start();
        Headless.await(directory.resolve("runs"), headless);
        Process guardian = guardian(awk ? List.of() : withoutAwk());
        try (OutputStream pipe = guardian.getOutputStream()) {
            String lines = "child " + headless.pid() + " " + Headless.start(headless) + "\nlife " + life + "\n";
            pipe.write(lines.getBytes(StandardCharsets.US_ASCII));
        }

        assertThat(guardian.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(life).hasContent("ce");
        assertThat(headless.waitFor(5, TimeUnit.SECONDS)).as("it was ended").isTrue();
    }

    /** As with {@code env -i} and {@code sudo}, in the group of Leasehold. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endsACommandThatShowsNothingOfTheRun(boolean awk) throws IOException, InterruptedException {
        Path life = directory.resolve("life");
        Files.writeString(life, "c");
        Process command = new ProcessBuilder("sleep", "300").start();
        Process guardian = guardian(awk ? List.of() : withoutAwk());
        try (OutputStream pipe = guardian.getOutputStream()) {
            String lines = "child " + command.pid() + " " + start(command.pid()) + "\nlife " + life + "\n";
            pipe.write(lines.getBytes(StandardCharsets.US_ASCII));
        }

        assertThat(guardian.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(life).hasContent("ce");
        assertThat(command.waitFor(5, TimeUnit.SECONDS)).as("it was ended").isTrue();
    }

    /** No process collects it, so a wait for it would never end. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void countsWhatHasEndedAndWasNotCollectedAsEnded(boolean awk) throws IOException, InterruptedException {
        Path life = directory.resolve("life");
        Files.writeString(life, "c");
        Process parent = Zombies.start(directory.resolve("pid"));
        long zombie = Long.parseLong(Files.readString(directory.resolve("pid")));
        Process guardian = guardian(awk ? List.of() : withoutAwk());
        try (OutputStream pipe = guardian.getOutputStream()) {
            String lines = "child " + zombie + " 1 " + zombie + "\nlife " + life + "\n";
            pipe.write(lines.getBytes(StandardCharsets.US_ASCII));
        }

        assertThat(guardian.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(life).hasContent("ce");
        parent.destroyForcibly().waitFor();
    }

    /** The command has used up the limit of processes, so that a search fails at once, or half-way. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2, 4})
    void saysNothingWhereItCannotLook(int spare) throws IOException, InterruptedException {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        assumeTrue(
                lookup.find("setpriv") instanceof CommandLookup.Result.Found
                        && System.getProperty("user.name").equals("root"),
                "only root may become another user, by setpriv: apt-get install util-linux, and run the tests as root");
        // A separate user, since the limit counts all processes of a user.
        String user = Long.toString(100_000 + ProcessHandle.current().pid() % 100_000 * 10 + spare);
        List<String> asUser = List.of("setpriv", "--reuid=" + user, "--clear-groups");
        Path life = directory.resolve("life");
        Files.writeString(life, "c");
        new ProcessBuilder("chmod", "-R", "a+rwX", directory.toString()).start().waitFor();
        // Zombies that are not collected would also count, permanently.
        List<String> many = new ArrayList<>(Zombies.belowOneThatCollectsOrphans());
        many.add("setsid");
        many.addAll(asUser);
        many.addAll(List.of(
                "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 300 & done; echo >'" + directory + "/runs'; wait"));
        Process adopter = new ProcessBuilder(many).start();
        while (!Files.exists(directory.resolve("runs"))) {
            Thread.sleep(5);
        }
        List<ProcessHandle> all = adopter.descendants().toList();
        assertThat(all).hasSize(10);
        long command = adopter.children().findFirst().orElseThrow().pid();

        // Ten, and the guardian itself.
        List<String> limited = new ArrayList<>(asUser);
        limited.addAll(List.of("prlimit", "--nproc=" + (11 + spare)));
        Process guardian = guardian(limited);
        try (OutputStream pipe = guardian.getOutputStream()) {
            String lines = "child " + command + " " + start(command) + " " + command + "\nlife " + life + "\n";
            pipe.write(lines.getBytes(StandardCharsets.US_ASCII));
        }
        assertThat(guardian.waitFor(1, TimeUnit.MINUTES)).isTrue();
        List<Long> alive = ProcessTable.ofThisSystem().rows().stream()
                .map(ProcessTable.Row::pid)
                .toList();
        List<Long> living =
                ProcessTree.pids(all).stream().filter(alive::contains).toList();
        all.forEach(ProcessHandle::destroyForcibly);

        assertThat(living).as("what lives").isEmpty();
        assertThat(life).hasContent("ce");
    }

    /** Its pipe takes some thousands of lines; a process that sends more must not wait for it endlessly. */
    @Test
    void replacesOneThatHasStoppedReading() throws IOException, InterruptedException {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (Guardian guardian =
                Guardian.start(RunMark.create(), Duration.ofSeconds(1), SessionStarter.find(lookup), null)) {
            ProcessHandle first = onlyGuardian();
            new Signals().send("STOP", List.of(first.pid()));
            while (first.isAlive()) {
                guardian.deadline(guardian.now(), TimeUnit.HOURS.toNanos(1));
            }

            assertThat(guardian.revive()).isTrue();
            assertThat(guardian.fired()).isFalse();
        }
    }

    /** Finds the guardian among the children: other tests of this process may have left some. */
    private static ProcessHandle onlyGuardian() {
        List<ProcessHandle> guardians = GuardedCommandTest.ours("leasehold-guardian");
        assertThat(guardians).hasSize(1);
        return guardians.get(0);
    }

    /** It notices neither the end of its pipe nor a deadline; its pipe takes hours to be full. */
    @Test
    void replacesOneThatWasStopped() throws IOException {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (Guardian guardian =
                Guardian.start(RunMark.create(), Duration.ofSeconds(1), SessionStarter.find(lookup), null)) {
            ProcessHandle first = onlyGuardian();
            new Signals().send("STOP", List.of(first.pid()));
            while (first.isAlive()) {
                assertThat(guardian.revive()).isTrue();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            }
            assertThat(guardian.revive()).isTrue();
        }
    }

    /** Like a release that takes long: the guardian receives no later deadline. */
    @Test
    void leavesADaemonAloneOnceTheCommandHasEnded() throws IOException, InterruptedException {
        Duration validity = Duration.ofSeconds(10);
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", "setsid sleep 300 & echo $! >'" + directory + "/pid'")),
                OnLost.KILL,
                Duration.ofSeconds(1),
                validity,
                Containment.REAPER);
        long endsAtNanos = System.nanoTime() + validity.toNanos();
        try (GuardedCommand command = GuardedCommand.prepare(settings, new CommandLookup(System.getenv("PATH")))) {
            command.start(Map.of(), () -> endsAtNanos - System.nanoTime());
            GuardedCommand.Ended ended = command.await();
            assumeTrue(!ended.endedForLease(), "the machine is too busy to run a command within " + validity);
            Thread.sleep(validity.plusSeconds(2).toMillis());

            long daemon =
                    Long.parseLong(Files.readString(directory.resolve("pid")).strip());
            ProcessHandle process = ProcessHandle.of(daemon).orElse(null);
            assertThat(process).as("the daemon").isNotNull();
            process.destroyForcibly();
        }
    }

    private static List<String> withoutAwk() {
        return List.of("env", "PATH=" + StartedCli.pathWithout("awk"));
    }

    private Process guardianAsNobody() throws IOException, InterruptedException {
        // It must write into the file, which it opens by its path.
        new ProcessBuilder("chmod", "-R", "a+rwX", directory.toString()).start().waitFor();
        return guardian(List.of("setpriv", "--reuid=" + NOBODY, "--clear-groups"));
    }

    /** Starts the script's shell by these words. */
    private static Process guardian(List<String> by) throws IOException {
        try (InputStream script = Guardian.class.getResourceAsStream("guardian.sh")) {
            assertThat(script).isNotNull();
            List<String> command = new ArrayList<>(by);
            command.addAll(List.of(
                    "sh", "-c", "eval \"$script\"", "guardian", RunMark.create().text(), "100", ""));
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().put("script", new String(script.readAllBytes(), StandardCharsets.US_ASCII));
            return builder.start();
        }
    }

    private static long start(long pid) throws IOException {
        return ProcessTable.ofThisSystem().row(pid).orElseThrow().start();
    }
}
