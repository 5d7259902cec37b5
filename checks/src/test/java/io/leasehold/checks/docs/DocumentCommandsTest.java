package io.leasehold.checks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.checks.Documents;
import io.leasehold.servers.RedisServer;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every {@code ./leasehold} command in the README, in both languages, succeeds: it ends with 0. */
@Tag("full")
class DocumentCommandsTest {

    private static final String PROGRAM = "./leasehold ";

    @TempDir
    private static Path directory;

    private static RedisServer redis;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.start();
        Path script = Files.writeString(directory.resolve("report.sh"), "#!/bin/sh\necho report\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @TestFactory
    Stream<DynamicTest> commandsOfTheReadmeSucceed() {
        return CodeBlock.in(Documents.root(), "sh").stream()
                .filter(block -> block.document().startsWith("README"))
                .flatMap(block -> block.lines().stream())
                .filter(line -> line.startsWith(PROGRAM))
                .map(line -> line.replaceFirst(" +#.*", ""))
                .distinct()
                .map(line -> DynamicTest.dynamicTest(line, () -> run(line)));
    }

    private static void run(String line) throws Exception {
        Path out = Files.createTempFile(directory, "out", ".txt");
        List<String> command = new ArrayList<>(List.of(
                "sh",
                "-c",
                program() + line.substring(PROGRAM.length() - 1).replace("redis://127.0.0.1:6379", redis.uri())));
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectInput(new File("/dev/null"))
                .redirectErrorStream(true)
                .redirectOutput(out.toFile());
        builder.environment().put("HOME", directory.toString());
        builder.environment().keySet().removeIf(name -> name.startsWith("LEASEHOLD"));
        Process process = builder.start();
        try {
            assertThat(process.waitFor(3, TimeUnit.MINUTES)).as("%s ends", line).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue())
                .as("%s, which wrote:%n%s", line, Files.readString(out))
                .isZero();
    }

    /** The program that the launcher starts, with the classes of this build. */
    private static String program() {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classPath = Objects.requireNonNull(System.getProperty("java.class.path"));
        return "env HOME='" + directory + "' '" + java + "' -cp '" + classPath + "' io.leasehold.cli.Main";
    }
}
