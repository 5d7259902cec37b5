package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of real control groups of both versions, if this user may create them. */
@Tag("quick")
@Timeout(60)
class ControlGroupTest {

    private static List<String> lines(String file) throws IOException {
        return Files.readAllLines(Path.of(file), StandardCharsets.ISO_8859_1);
    }

    /** Creates a group as on a host with only this version. */
    private static ControlGroup group(int version) throws IOException {
        List<String> memberships = lines("/proc/self/cgroup").stream()
                .filter(line -> line.startsWith("0::") == (version == 2))
                .toList();
        ControlGroup group = ControlGroup.make(RunMark.create(), lines("/proc/self/mountinfo"), memberships);
        assumeTrue(
                group != null,
                "no control group of version " + version + " can be made: mount one, and run the tests as root");
        return group;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void keepsWhatWasStartedInIt(int version) throws IOException, InterruptedException {
        ControlGroup group = group(version);
        group.enter();
        Process parent = new ProcessBuilder("sh", "-c", "(env -i setsid sleep 300 &); exec sleep 301").start();
        group.leave();

        assertThat(group.contains(ProcessHandle.current().pid())).isFalse();
        while (group.pids().size() < 2) {
            Thread.sleep(5);
        }
        group.remove();
        assertThat(group.directory()).as("in use").exists();
        group.kill();
        while (!group.pids().isEmpty()) {
            group.pids().forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
        }
        assertThat(parent.waitFor(30, TimeUnit.SECONDS)).isTrue();
        group.remove();
        assertThat(group.directory()).doesNotExist();
    }

    @Test
    void sweepsAwayWhatDeadRunsLeft() throws IOException {
        ControlGroup group = group(2);
        Path left = Files.createDirectories(
                group.directory().resolveSibling(ControlGroup.PREFIX + "4194305-1-run-of-a-dead-process"));
        ControlGroup next = group(2);

        assertThat(left).doesNotExist();
        assertThat(group.directory()).as("of a process that lives").exists();
        group.remove();
        next.remove();
    }

    @Test
    void isNotMadeWhereNothingIsMounted() throws IOException {
        assertThat(ControlGroup.make(RunMark.create(), List.of(), lines("/proc/self/cgroup")))
                .isNull();
        assertThat(ControlGroup.make(
                        RunMark.create(), List.of("1 2 0:1 / /nowhere rw - cgroup2 cgroup2 rw"), List.of("0::/")))
                .isNull();
    }
}
