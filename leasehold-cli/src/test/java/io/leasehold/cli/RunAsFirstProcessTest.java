package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.cli.process.Zombies;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests in a container whose process 1 is Leasehold, or another application that collects no orphans. */
@Tag("full")
@Timeout(600)
class RunAsFirstProcessTest {

    private static final List<String> AS_FIRST = List.of("unshare", "--pid", "--fork", "--mount-proc", "--kill-child");

    @TempDir
    private Path directory;

    private String store;
    private StartedCli.Setup cli;

    @BeforeEach
    void useAStoreOfOurOwn() {
        store = "sqlite:" + directory.resolve("locks.db");
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store);
    }

    private StartedCli.Setup asFirst(String way) {
        assumeTrue(
                StartedCli.shell(String.join(" ", AS_FIRST) + " echo works 2>&1")
                        .strip()
                        .equals("works"),
                "no process can be the first of a namespace here: run the tests as root, with util-linux");
        return cli.by(AS_FIRST).with("LEASEHOLD_CONTAINMENT", way);
    }

    private void awaitFile(String name, StartedCli run) {
        Await.until(() -> name + "; stderr: " + run.err(), () -> Files.exists(directory.resolve(name)));
    }

    /** The command leaves two orphans: one ends by itself and is not collected, the other ignores TERM. */
    @ParameterizedTest
    @ValueSource(strings = {"cgroup", "reaper", "remembered"})
    void aCommandEndsAndTheLockIsFree(String way) {
        String command =
                "(sleep 0.1 &)\n(trap '' TERM; echo >left; sleep 300) &\nuntil [ -e left ]; do sleep 0.01; done\nexit 3";
        try (StartedCli run =
                asFirst(way).start("run", "--ttl=10m", "--grace=1s", "--json", "job", "--", "sh", "-c", command)) {
            assertThat(run.exitCode()).as(run::err).isEqualTo(3);
            assertThat(run.err()).contains("\"outcome\":\"completed\"", "\"release\":\"RELEASED\"");
        }
        assertFree();
    }

    @ParameterizedTest
    @ValueSource(strings = {"cgroup", "reaper", "remembered"})
    void passesTermOn(String way) {
        String command =
                StartedCli.script(directory, "command", "trap 'exit 11' TERM\n: >ready\nwhile :; do sleep 0.05; done");
        try (StartedCli run = asFirst(way).start("run", "--ttl=10m", "job", "--", command)) {
            awaitFile("ready", run);
            StartedCli.shell("kill -s TERM $(pgrep -P " + run.pid() + ")");

            assertThat(run.exitCode()).as(run::err).isEqualTo(11);
        }
        assertFree();
    }

    /** Its orphans end one after the other, and remain as zombies. */
    @ParameterizedTest
    @ValueSource(strings = {"cgroup", "reaper", "remembered"})
    void aLostLeaseEndsTheCommand(String way) {
        String orphans = "trap '' TERM\nfor i in 1 2 3; do (setsid sh -c \"trap '' TERM; sleep 300\" &); done\n"
                + ": >ready\nwhile :; do sleep 0.05; done";
        String command = StartedCli.script(directory, "command", orphans);
        try (StartedCli run = asFirst(way).start("run", "--ttl=3s", "job", "--", command)) {
            awaitFile("ready", run);
            try (LockClient locks = Leasehold.connect(store)) {
                assertThat(locks.admin().forceRelease(LockName.exactly("job"), null))
                        .isTrue();
            }

            assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.LEASE_LOST.code());
            assertThat(run.err()).contains("the command was ended");
        }
        assertFree();
    }

    /** The command is then a child of process 1, and a permanent zombie. */
    @Test
    void aCommandWhoseAdopterIsKilledIsNotWaitedForAsAZombie() {
        cli.by(Zombies.belowOneThatCollectsNoOrphans()).with("LEASEHOLD_CONTAINMENT", "reaper");
        try (StartedCli run = cli.start(
                "run", "--ttl=10m", "--grace=1s", "--json", "job", "--", "sh", "-c", ": >ready; exec sleep 300")) {
            awaitFile("ready", run);
            assumeTrue(
                    !run.below("leasehold-reaper").isEmpty(),
                    "perl, which looks after orphans, is not here: apt-get install perl-base");
            run.below("leasehold-reaper").forEach(ProcessHandle::destroyForcibly);

            assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.INTERNAL.code());
            assertThat(run.err()).contains("\"release\":\"RELEASED\"");
        }
        assertFree();
    }

    private void assertFree() {
        try (LockClient locks = Leasehold.connect(store)) {
            assertThat(locks.admin().inspect("job")).isEmpty();
        }
    }
}
