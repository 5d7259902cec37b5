package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * While nothing is recorded, the flight recorder does not delay a start. Events after a later start of the recorder are
 * recorded.
 */
@Tag("quick")
class FlightRecorderStartTest {

    @TempDir
    private Path folder;

    @Test
    void aClientLoadsNoDescriptionsOfEvents() throws IOException, InterruptedException {
        Path log = folder.resolve("classes");

        assertThat(exitCode(List.of("-Xlog:class+load:file=" + log), Unrecorded.class))
                .isZero();

        assertThat(Files.readString(log))
                .contains(ActiveLease.class.getName() + " ")
                .doesNotContain("jdk.jfr.internal.Metadata");
    }

    @Test
    void aRecordingThatBeginsAfterTheFirstLeaseShowsTheNext() throws IOException, InterruptedException {
        assertThat(exitCode(List.of(), RecordedLater.class)).isZero();
    }

    /** Runs the program in a separate process: earlier tests in this process may have started the recorder. */
    private int exitCode(List<String> options, Class<?> program) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1")
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        // A JVM prints a message when it takes options from this variable.
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.command().addAll(options);
        builder.command().addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
        builder.command().add(folder.toString());
        int code = builder.start().waitFor();
        assertThat(Files.readString(output, StandardCharsets.UTF_8)).isEmpty();
        return code;
    }

    private static void holdOnce() throws InterruptedException {
        try (LockClient locks = Leasehold.connect("memory:")) {
            try (Lease lease = locks.named("work").acquire()) {
                lease.renew();
            }
        }
    }

    /** Acquires, renews and releases a lease. */
    static final class Unrecorded {
        public static void main(String[] arguments) throws InterruptedException {
            holdOnce();
        }
    }

    /** Does the same before and during a recording, and counts the events of the recording. */
    static final class RecordedLater {
        public static void main(String[] arguments) throws IOException, InterruptedException {
            holdOnce();
            Path file = Path.of(arguments[0]).resolve("events.jfr");
            try (Recording recording = new Recording()) {
                for (String event : List.of("Wait", "Hold", "Renewal")) {
                    recording.enable("io.leasehold." + event).withThreshold(Duration.ZERO);
                }
                recording.start();
                holdOnce();
                recording.stop();
                recording.dump(file);
            }
            List<String> events = RecordingFile.readAllEvents(file).stream()
                    .map(event -> event.getEventType().getName())
                    .sorted()
                    .toList();
            if (!events.equals(List.of("io.leasehold.Hold", "io.leasehold.Renewal", "io.leasehold.Wait"))) {
                System.out.println(events);
            }
        }
    }
}
