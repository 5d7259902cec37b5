package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisServer;
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
        List<String> classes = loadedOver("sqlite:" + directory.resolve("locks.db"));
        assertThatLittleIsLoaded(classes);
        assertThat(classes)
                .noneMatch(line -> line.contains(" java.time.format.DateTimeFormatter "))
                .as("the formats of the driver read those of all locales")
                .noneMatch(line -> line.contains(" java.text.DateFormatSymbols "));
    }

    @Test
    void aPlainRunOverRedisLoadsNoLettuce() throws IOException {
        try (RedisServer server = RedisServer.start()) {
            List<String> classes = loadedOver(server.uri());
            assertThatLittleIsLoaded(classes);
            assertThat(classes)
                    .anyMatch(line -> line.contains(" io.leasehold.jedis.JedisConnection "))
                    .noneMatch(line -> line.contains(" io.lettuce."))
                    .noneMatch(line -> line.contains(" io.netty."));
        }
    }

    /** The classes that a run over this store loads, a line of the JVM's log each. */
    private List<String> loadedOver(String store) throws IOException {
        Path loaded = directory.resolve("loaded");
        StartedCli run = new StartedCli.Setup(directory)
                .with("LEASEHOLD_STORE", store)
                .with("JAVA_TOOL_OPTIONS", "-Xlog:class+load:file=" + loaded)
                .run("run", "-q", "a", "--", "true");
        assertThat(run.exitCode()).as(run.err()).isZero();
        return Files.readAllLines(loaded);
    }

    private static void assertThatLittleIsLoaded(List<String> classes) {
        assertThat(classes).anyMatch(line -> line.contains(" io.leasehold.cli.command.PlainRun "));
        assertThat(classes)
                .noneMatch(line -> line.contains(" picocli."))
                .noneMatch(line -> line.contains(" jdk.jfr.Event "))
                .noneMatch(line -> line.contains(" io.leasehold.engine.FlightEvents$"))
                .noneMatch(line -> line.contains(" java.lang.runtime.ObjectMethods "))
                .noneMatch(line -> line.contains(" java.util.logging.LogManager "))
                .as("big decimals")
                .noneMatch(line -> line.contains(" java.math.MathContext "));
    }
}
