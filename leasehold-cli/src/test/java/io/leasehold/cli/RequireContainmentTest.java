package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that {@code --require-containment} starts no process that could escape. */
@Tag("full")
class RequireContainmentTest {

    @TempDir
    private Path directory;

    private StartedCli run(String way) {
        return new StartedCli.Setup(directory)
                .with("LEASEHOLD_CONTAINMENT", way)
                .run("run", "--require-containment", "--json", "job", "--", "touch", "ran");
    }

    @Test
    void refusesWhereLookingIsAllThereIs() {
        StartedCli run = run("remembered");

        assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.UNSAFE.code());
        assertThat(run.err()).contains("\"outcome\":\"not-started\"", "\"containment\":\"remembered\"");
        assertThat(directory.resolve("ran")).doesNotExist();
    }

    @Test
    void startsBelowAProcessThatAdoptsOrphans() {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/perl")), "perl is not here: apt-get install perl-base");
        StartedCli run = run("reaper");

        assertThat(run.exitCode()).as(run::err).isZero();
        assertThat(run.err()).contains("\"containment\":\"reaper\"");
        assertThat(directory.resolve("ran")).exists();
    }

    @Test
    void refusesAWayThatThereIsNot() {
        StartedCli run = run("wishes");

        assertThat(run.exitCode()).as(run::err).isEqualTo(ExitCode.USAGE.code());
        assertThat(directory.resolve("ran")).doesNotExist();
    }
}
