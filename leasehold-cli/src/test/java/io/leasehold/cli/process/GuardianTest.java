package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The guardian's script after the death of the process that started it. */
@Tag("full")
@Timeout(120)
class GuardianTest {

    private static final String NOBODY = "65534";

    @TempDir
    private Path directory;

    /** As nobody, it may not signal what runs as root. */
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
            String lines = "child " + alive.pid() + " " + start(alive) + "\nlife " + life + "\n";
            pipe.write(lines.getBytes(StandardCharsets.US_ASCII));
        }

        assertThat(guardian.waitFor(3, TimeUnit.SECONDS)).as("it waits").isFalse();
        assertThat(life).hasContent("c");

        alive.destroyForcibly().waitFor();
        assertThat(guardian.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(life).hasContent("ce");
    }

    /** Its pipe takes some thousands of lines; whoever tells it more must not wait for it without end. */
    @Test
    void replacesOneThatHasStoppedReading() throws IOException, InterruptedException {
        CommandLookup lookup = new CommandLookup(System.getenv("PATH"));
        try (Guardian guardian =
                Guardian.start(RunMark.create(), Duration.ofSeconds(1), SessionStarter.find(lookup), null)) {
            ProcessHandle first = ProcessHandle.current().children().findFirst().orElseThrow();
            new Signals().send("STOP", List.of(first.pid()));
            while (first.isAlive()) {
                guardian.deadline(guardian.now(), TimeUnit.HOURS.toNanos(1));
            }

            assertThat(guardian.revive()).isTrue();
            assertThat(guardian.fired()).isFalse();
        }
    }

    private Process guardianAsNobody() throws IOException {
        // It is to write into the file, and finds it by its path.
        try (InputStream script = Guardian.class.getResourceAsStream("guardian.sh")) {
            assertThat(script).isNotNull();
            new ProcessBuilder("chmod", "-R", "a+rwX", directory.toString()).start();
            ProcessBuilder builder = new ProcessBuilder(List.of(
                    "setpriv",
                    "--reuid=" + NOBODY,
                    "--clear-groups",
                    "sh",
                    "-c",
                    "eval \"$script\"",
                    "guardian",
                    "run-of-a-test",
                    "100",
                    ""));
            builder.environment().put("script", new String(script.readAllBytes(), StandardCharsets.US_ASCII));
            return builder.start();
        }
    }

    private static long start(Process process) throws IOException {
        return ProcessTable.ofThisSystem().row(process.pid()).orElseThrow().start();
    }
}
