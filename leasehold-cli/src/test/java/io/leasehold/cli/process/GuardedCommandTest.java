package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of a command with a validity that the test controls. */
@Timeout(60)
@Tag("quick")
class GuardedCommandTest {

    private static final Duration GRACE = Duration.ofSeconds(2);
    private static final Duration TTL = Duration.ofSeconds(6);

    /** Ends on request, and leaves a child that ignores TERM. */
    private static final String LEAVES_A_CHILD = """
            (trap '' TERM; echo >child-runs; exec sleep 300) &
            read -r word <go
            exit 0
            """;

    @TempDir
    private Path directory;

    /**
     * The command has ended while its lease was valid. The grace begins while the child may still end by itself, so the
     * watch has already sent TERM: the child is waited for and killed nevertheless.
     */
    @Test
    void killsWhatWasLeftBehindIfTheGraceBeginsMeanwhile() throws Exception {
        AtomicLong endsAtNanos = new AtomicLong(System.nanoTime() + TimeUnit.HOURS.toNanos(1));
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", "cd '" + directory + "'; mkfifo go; " + LEAVES_A_CHILD)),
                OnLost.TERM,
                GRACE,
                TTL,
                Containment.CGROUP);
        try (GuardedCommand command = GuardedCommand.prepare(settings, new CommandLookup(System.getenv("PATH")))) {
            command.start(Map.of(), () -> endsAtNanos.get() - System.nanoTime());
            await("child-runs");
            ProcessHandle child = onlySleeper();
            ProcessHandle root = child.parent().orElseThrow();

            Thread ending = new Thread(() -> {
                tell("go");
                awaitEnd(root);
                endsAtNanos.set(System.nanoTime() + GRACE.toNanos());
                command.check();
            });
            ending.start();
            GuardedCommand.Ended ended = command.await();
            ending.join();

            assertThat(ProcessTable.ofThisSystem().rows())
                    .as("what runs, zombies aside")
                    .noneMatch(row -> row.pid() == child.pid());
            assertThat(ended.exitCode()).isZero();
            assertThat(ended.endedForLease()).isTrue();
            assertThat(ended.survivors()).isEmpty();
        }
    }

    /**
     * The command received TERM since its lease was about to end, and has ended; then the lease is renewed after all. The
     * child that ignores TERM is killed nevertheless: it would keep the lock for as long as it runs.
     */
    @Test
    void killsWhatIgnoresTermIfTheLeaseIsRenewedAfterAll() throws Exception {
        AtomicLong endsAtNanos = new AtomicLong(System.nanoTime() + TimeUnit.HOURS.toNanos(1));
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", "cd '" + directory + "'; mkfifo go; " + LEAVES_A_CHILD)),
                OnLost.TERM,
                GRACE,
                TTL,
                Containment.CGROUP);
        try (GuardedCommand command = GuardedCommand.prepare(settings, new CommandLookup(System.getenv("PATH")))) {
            command.start(Map.of(), () -> endsAtNanos.get() - System.nanoTime());
            await("child-runs");
            ProcessHandle child = onlySleeper();
            ProcessHandle root = child.parent().orElseThrow();

            Thread renewing = new Thread(() -> {
                endsAtNanos.set(System.nanoTime() + GRACE.toNanos());
                command.check();
                awaitEnd(root);
                endsAtNanos.set(System.nanoTime() + TimeUnit.HOURS.toNanos(1));
                command.check();
            });
            renewing.start();
            GuardedCommand.Ended ended = command.await();
            renewing.join();

            assertThat(ProcessTable.ofThisSystem().rows())
                    .as("what runs, zombies aside")
                    .noneMatch(row -> row.pid() == child.pid());
            assertThat(ended.exitCode()).isEqualTo(128 + 15);
            assertThat(ended.endedForLease()).isTrue();
            assertThat(ended.survivors()).isEmpty();
        }
    }

    /** It appears as a zombie, and continues in its other threads: it must have ended before the next holder begins. */
    @ParameterizedTest
    @EnumSource(Containment.class)
    void killsWhatGoesOnWithoutItsFirstThread(Containment strongest) throws Exception {
        AtomicLong endsAtNanos = new AtomicLong(System.nanoTime() + TimeUnit.HOURS.toNanos(1));
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(Headless.command(directory.resolve("runs"))), OnLost.TERM, GRACE, TTL, strongest);
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> endsAtNanos.get() - System.nanoTime());
            await("runs");
            endsAtNanos.set(System.nanoTime());
            command.check();

            GuardedCommand.Ended ended = command.await();

            assertThat(ended.exitCode()).isEqualTo(128 + 9);
            assertThat(ended.endedForLease()).isTrue();
            assertThat(ended.survivors()).isEmpty();
        }
    }

    /** A failure of Leasehold, here an interrupt, releases nothing while the command runs. */
    @Test
    void endsTheCommandBeforeAFailureIsSeen() throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(sleeper(Containment.CGROUP), lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            await("runs");
            ProcessHandle sleeper = onlySleeper();
            Thread.currentThread().interrupt();

            assertThatThrownBy(() -> command.await()).isInstanceOf(InterruptedException.class);

            assertThat(ProcessTable.ofThisSystem().row(sleeper.pid())).isEmpty();
        }
    }

    @Test
    void startsALongArgumentBelowTheProcessThatAdopts() throws Exception {
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", "test ${#1} -eq 100000", "sh", "x".repeat(100_000))),
                OnLost.TERM,
                GRACE,
                TTL,
                Containment.REAPER);
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));

            assertThat(command.await().exitCode()).isZero();
        }
    }

    /** A signal that kills the group of this process does not reach it. */
    @Test
    void theProcessThatAdoptsIsInAGroupOfItsOwn() throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(sleeper(Containment.REAPER), lookup)) {
            assumeTrue(
                    command.containment() == Containment.REAPER,
                    "perl, which looks after orphans, is not here: apt-get install perl-base");
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            await("runs");
            ProcessHandle adopter = ours("leasehold-reaper").get(0);

            assertThat(ProcessTable.ofThisSystem()
                            .row(adopter.pid())
                            .orElseThrow()
                            .group())
                    .isEqualTo(adopter.pid());
            onlySleeper().destroyForcibly();
            command.await();
        }
    }

    private GuardedCommand.Settings sleeper(Containment strongest) {
        return new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", "echo >'" + directory + "/runs'; exec sleep 300")),
                OnLost.TERM,
                GRACE,
                TTL,
                strongest);
    }

    /** Even if the command has ended before the first poll. */
    @ParameterizedTest
    @EnumSource(Containment.class)
    void endsWhatAShortCommandLeavesBehind(Containment strongest) throws Exception {
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", "env -i sleep 300 & exit 3")),
                OnLost.TERM,
                GRACE,
                TTL,
                strongest);
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));

            GuardedCommand.Ended ended = command.await();

            assertThat(ended.exitCode()).isEqualTo(3);
            assertThat(ended.leftBehind()).isEqualTo(1);
            assertThat(ended.endedForLease()).isFalse();
        }
    }

    /**
     * The command {@code timeout} puts its command into a separate group, as an interactive shell does for each job.
     */
    @ParameterizedTest
    @EnumSource(Containment.class)
    void endsWhatWasLeftBehindInAGroupOfItsOwn(Containment strongest) throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        assumeTrue(
                lookup.find("timeout") instanceof CommandLookup.Result.Found,
                "timeout is not here: apt-get install coreutils");
        String script = "cd '" + directory + "'\ntimeout 300 sh -c 'echo $$ >pid; mv pid left; exec sleep 300' &\n"
                + "until [ -e left ]; do sleep 0.01; done";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, strongest);
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));

            GuardedCommand.Ended ended = command.await();

            long left =
                    Long.parseLong(Files.readString(directory.resolve("left")).strip());
            assertThat(ProcessTable.ofThisSystem().row(left)).isEmpty();
            assertThat(ended.leftBehind()).as("timeout and its sleep").isEqualTo(2);
            assertThat(ended.exitCode()).isZero();
        }
    }

    /** By that, a daemon shows that it is intended to stay. */
    @Test
    void leavesWhatMadeASessionOfItsOwn() throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        assumeTrue(
                lookup.find("setsid") instanceof CommandLookup.Result.Found,
                "setsid is not here: apt-get install util-linux");
        String script = "cd '" + directory + "'\nsetsid sh -c 'echo $$ >pid; mv pid daemon; exec sleep 300' &\n"
                + "until [ -e daemon ]; do sleep 0.01; done";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", script)), OnLost.TERM, GRACE, TTL, Containment.REMEMBERED);
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));

            GuardedCommand.Ended ended = command.await();

            ProcessHandle daemon = ProcessHandle.of(Long.parseLong(
                            Files.readString(directory.resolve("daemon")).strip()))
                    .orElseThrow();
            assertThat(daemon.isAlive()).isTrue();
            daemon.destroyForcibly();
            assertThat(ended.leftBehind()).isZero();
        }
    }

    /** No process would end the command if this process were killed now. */
    @Test
    void endsWhatCannotBeGuardedAnyMore() throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(sleeper(Containment.CGROUP), lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            await("runs");
            Thread killing = new Thread(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    ours("leasehold-guardian").forEach(ProcessHandle::destroyForcibly);
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                }
            });
            killing.start();

            GuardedCommand.Ended ended = command.await();
            killing.interrupt();
            killing.join();

            assertThat(ended.unguarded()).isTrue();
            assertThat(ended.survivors()).isEmpty();
            assertThat(ended.exitCode()).isEqualTo(128 + 15);
        }
    }

    /** A daemon may stay, and its control group with it. If it ends before the lock is released, nothing is left. */
    @Test
    void theGroupOfADaemonThatEndsInTheMeantimeIsRemoved() throws Exception {
        String starts = "cd '" + directory + "'; setsid sleep 300 & echo $! > daemon; mv daemon daemon-runs";
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                TypedWords.ofTexts(List.of("/bin/sh", "-c", starts)), OnLost.TERM, GRACE, TTL, Containment.CGROUP);
        try (GuardedCommand command = GuardedCommand.prepare(settings, new CommandLookup(System.getenv("PATH")))) {
            assumeTrue(command.containment() == Containment.CGROUP, "this process may not make control groups");
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            assertThat(command.await().leftBehind()).isZero();

            String groups = PreparationTest.groups();
            long pid = Long.parseLong(
                    Files.readString(directory.resolve("daemon-runs")).strip());
            ProcessHandle.of(pid).orElseThrow().destroyForcibly();
            // Not onExit: where process 1 collects nothing, the daemon stays as a zombie.
            while (ProcessTable.ofThisSystem().row(pid).isPresent()) {
                Thread.sleep(5);
            }
            assertThat(groups).as("the daemon's").isNotEmpty();
        }
        assertThat(PreparationTest.groups()).isEmpty();
    }

    /** A guardian that was killed once is not a reason to end the command. */
    @Test
    void startsAnotherGuardianForOneThatWasKilled() throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(sleeper(Containment.CGROUP), lookup)) {
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            await("runs");
            ProcessHandle first = ours("leasehold-guardian").get(0);
            first.destroyForcibly();
            while (ours("leasehold-guardian").stream().noneMatch(other -> other.pid() != first.pid())) {
                Thread.sleep(5);
            }
            onlySleeper().destroyForcibly();

            GuardedCommand.Ended ended = command.await();

            assertThat(ended.unguarded()).isFalse();
            assertThat(ended.exitCode()).isEqualTo(128 + 9);
        }
    }

    /** Before a stop, the user reads when the lease ends: the guardian must not kill at the end of an earlier lease. */
    @Test
    void tellsTheGuardianARenewedDeadlineAtOnce() throws Exception {
        assumeTrue(Files.isReadable(Path.of("/proc/uptime")), "the guardian knows no deadline here");
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        AtomicLong endsAtNanos = new AtomicLong(System.nanoTime() + TimeUnit.MINUTES.toNanos(1));
        GuardedCommand.Settings settings = new GuardedCommand.Settings(
                sleeper(Containment.REMEMBERED).command(),
                OnLost.TERM,
                GRACE,
                Duration.ofMinutes(1),
                Containment.REMEMBERED);
        try (GuardedCommand command = GuardedCommand.prepare(settings, lookup)) {
            command.start(Map.of(), () -> endsAtNanos.get() - System.nanoTime());
            await("runs");
            awaitDeadline("5[0-9]");
            long renewedAtNanos = System.nanoTime();
            endsAtNanos.set(renewedAtNanos + TimeUnit.HOURS.toNanos(1));
            command.tellDeadline();

            awaitDeadline("35[0-9]{2}");
            assertThat(System.nanoTime() - renewedAtNanos)
                    .as("before the next look at the lease")
                    .isLessThan(TimeUnit.SECONDS.toNanos(4));
            onlySleeper().destroyForcibly();
            command.await();
        }
    }

    /** Waits until the guardian waits for a deadline in this number of seconds. */
    private static void awaitDeadline(String seconds) throws InterruptedException {
        while (ours("leasehold-guardian").stream()
                .flatMap(ProcessHandle::children)
                .flatMap(child -> Stream.concat(Stream.of(child), child.children()))
                .noneMatch(child -> title(child.pid()).matches("(?s)timeout\0" + seconds + "\\.[0-9]+\0.*"))) {
            Thread.sleep(5);
        }
    }

    /** Orphans would escape from now on. */
    @Test
    void endsTheCommandIfTheProcessThatAdoptsIsKilled() throws Exception {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (GuardedCommand command = GuardedCommand.prepare(sleeper(Containment.REAPER), lookup)) {
            assumeTrue(
                    command.containment() == Containment.REAPER,
                    "perl, which looks after orphans, is not here: apt-get install perl-base");
            command.start(Map.of(), () -> TimeUnit.HOURS.toNanos(1));
            await("runs");
            ProcessHandle sleeper = onlySleeper();
            ours("leasehold-reaper").forEach(ProcessHandle::destroyForcibly);

            GuardedCommand.Ended ended = command.await();

            assertThat(ended.unguarded()).isTrue();
            assertThat(ended.survivors()).isEmpty();
            assertThat(ProcessTable.ofThisSystem().row(sleeper.pid())).isEmpty();
        }
    }

    private static String title(long pid) {
        try {
            return Files.readString(Path.of("/proc/" + pid + "/cmdline"), StandardCharsets.ISO_8859_1);
        } catch (IOException ended) {
            return "";
        }
    }

    static List<ProcessHandle> ours(String name) {
        return ProcessHandle.current()
                .children()
                .filter(child -> title(child.pid()).contains(name))
                .toList();
    }

    private void await(String file) throws InterruptedException {
        while (!Files.exists(directory.resolve(file))) {
            Thread.sleep(5);
        }
    }

    /** Waits until the command has ended, and gives the code under test a moment to notice. */
    private static void awaitEnd(ProcessHandle root) {
        root.onExit().join();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
    }

    private void tell(String fifo) {
        try {
            Files.writeString(directory.resolve(fifo), "go\n");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static ProcessHandle onlySleeper() throws InterruptedException {
        while (true) {
            List<ProcessHandle> sleepers = ProcessHandle.current()
                    .descendants()
                    .filter(process -> process.info().command().orElse("").endsWith("sleep"))
                    .toList();
            if (sleepers.size() == 1) {
                return sleepers.get(0);
            }
            Thread.sleep(5);
        }
    }
}
