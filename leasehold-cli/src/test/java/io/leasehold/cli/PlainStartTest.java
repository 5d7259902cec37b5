package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the start of a plain run loads nothing that it does without, since each of these takes a part of the start. */
@Tag("quick")
class PlainStartTest {

    @TempDir
    private Path directory;

    /** From JDK 22 on, a start of a process asks for such a logger. */
    @Test
    void theJdksOwnLoggersAreNotThoseOfJavaUtilLogging() {
        assertThat(System.getLogger("java.lang.ProcessBuilder"))
                .isNotNull()
                .satisfies(logger ->
                        assertThat(logger.isLoggable(System.Logger.Level.ERROR)).isFalse());
    }

    @Test
    void aPlainRunLoadsNeitherPicocliNorTheFlightRecordersEvents() throws IOException {
        Path loaded = directory.resolve("loaded");
        StartedCli run = new StartedCli.Setup(directory)
                .with("LEASEHOLD_STORE", "sqlite:" + directory.resolve("locks.db"))
                .with("JAVA_TOOL_OPTIONS", "-Xlog:class+load:file=" + loaded)
                .run("run", "-q", "a", "--", "true");
        assertThat(run.exitCode()).as(run.err()).isZero();
        List<String> classes = Files.readAllLines(loaded);
        assertThat(classes).anyMatch(line -> line.contains(" io.leasehold.cli.command.PlainRun "));
        assertThat(classes)
                .noneMatch(line -> line.contains(" picocli."))
                .noneMatch(line -> line.contains(" jdk.jfr.Event "))
                .noneMatch(line -> line.contains(" io.leasehold.engine.FlightEvents$"))
                .noneMatch(line -> line.contains(" java.lang.runtime.ObjectMethods "))
                .noneMatch(line -> line.contains(" java.util.logging.LogManager "))
                .noneMatch(line -> line.contains(" java.time.format.DateTimeFormatter "));
    }
}
