package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.testkit.process.ChildJvm;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests that a password appears nowhere: not in a log at debug level, in an exception, or in the title of a process or
 * thread.
 */
@Tag("quick")
class RedisSecretsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String RIGHT = "s3cret-right";
    private static final String WRONG = "s3cret-wrong";
    private static final String LIMITED = "s3cret-limited";

    @RegisterExtension
    static final RedisUnderTest SERVER =
            new RedisUnderTest(b -> b.user("app", "on >" + RIGHT + " resetchannels " + RedisErrors.RIGHTS + " +client")
                    .user("limited", "on >" + LIMITED + " ~lock:* +info +ping"));

    @Test
    void noPasswordIsInLogsExceptionsOrTitles() throws Exception {
        String at = "@127.0.0.1:" + SERVER.server().port();
        List<String> seen = new ArrayList<>();
        try (ChildJvm child = ChildJvm.of(SecretsMain.class)
                .environment("WRONG_PASSWORD", "redis://app:" + WRONG + at)
                .environment("NOBODY", "redis://nobody:" + WRONG + at)
                .environment("DOWN", "redis://app:" + WRONG + "@127.0.0.1:1")
                .environment("NO_RIGHT", "redis://limited:" + LIMITED + at)
                .environment("MALFORMED", "redis://app:" + WRONG + at + "/nonumber")
                .environment("UNKNOWN_PARAMETER", "redis://app:" + WRONG + at + "?password=" + WRONG)
                .environment("RIGHT", "redis://app:" + RIGHT + at)
                // At trace level the driver prints every byte that it sends, as the document says.
                .property("org.slf4j.simpleLogger.defaultLogLevel", "debug")
                .start()) {
            child.awaitLine("holding", PATIENCE);
            seen.addAll(titles(child.pid()));
            seen.addAll(SERVER.redis().clientList().lines().toList());
            child.send("");
            child.awaitLine("done", PATIENCE);
            assertThat(child.waitFor(PATIENCE)).isZero();
            seen.addAll(child.lines());
            seen.addAll(child.errorLines());
        }
        // Check that it failed, that it logged, and that the titles were read.
        for (String failed :
                List.of("WRONG_PASSWORD", "NOBODY", "DOWN", "NO_RIGHT", "MALFORMED", "UNKNOWN_PARAMETER")) {
            assertThat(seen).anyMatch(line -> line.startsWith(failed + " failed: "));
        }
        assertThat(seen).anyMatch(line -> line.contains("lettuce") && line.contains("DEBUG"));
        assertThat(seen).anyMatch(line -> line.startsWith("thread "));
        assertThat(seen).anyMatch(line -> line.contains("SecretsMain"));
        assertThat(seen).noneMatch(line -> line.contains("s3cret"));
    }

    private static List<String> titles(long pid) throws IOException {
        Path process = Path.of("/proc", Long.toString(pid));
        List<String> titles = new ArrayList<>();
        ProcessHandle.of(pid)
                .ifPresent(handle -> titles.add(handle.info().commandLine().orElse("")));
        if (Files.isDirectory(process)) {
            titles.add(new String(Files.readAllBytes(process.resolve("cmdline")), StandardCharsets.UTF_8)
                    .replace('\0', ' '));
            try (Stream<Path> tasks = Files.list(process.resolve("task"))) {
                for (Path task : tasks.toList()) {
                    titles.add(Files.readString(task.resolve("comm")));
                }
            }
        }
        return titles;
    }
}
