package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootVersion;

/** Tests that an application without each optional dependency runs, or reports what it needs. */
@Tag("full")
class MinimalClassPathTest {

    private static final List<String> OPTIONAL = List.of(
            "spring-tx",
            "reactor",
            "micrometer-core",
            "spring-boot-actuator",
            "spring-boot-health",
            "spring-data",
            "lettuce",
            "netty",
            "h2-",
            "leasehold-jdbc",
            "leasehold-redis",
            "leasehold-micrometer",
            "junit",
            "assertj",
            "jackson");

    /** Compiled against, but useless with Boot 3: its auto-configuration would meet that of Boot 4. */
    private static final String OF_BOOT_4 =
            String.valueOf(SpringBootVersion.getVersion()).startsWith("3.") ? "spring-boot-health" : "none";

    private static String output(List<String> without, String... arguments) throws IOException, InterruptedException {
        String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> without.stream()
                        .noneMatch(absent ->
                                Path.of(entry).getFileName().toString().startsWith(absent)
                                        || entry.contains("/" + absent + "/target/")))
                .collect(Collectors.joining(File.pathSeparator));
        List<String> command = Stream.concat(
                        Stream.of(
                                Path.of(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-XX:TieredStopAtLevel=1",
                                "-XX:+UseSerialGC",
                                "-cp",
                                classPath,
                                MinimalApplication.class.getName(),
                                "--spring.main.banner-mode=off",
                                "--logging.level.root=warn"),
                        Stream.of(arguments))
                .toList();
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    @Test
    void theStarterAloneIsEnough() throws IOException, InterruptedException {
        assertThat(output(OPTIONAL, "--leasehold.uri=memory:")).contains("held minimal");
    }

    @Test
    void eachOptionalThingMayBeMissing() throws IOException, InterruptedException {
        for (String absent :
                List.of("spring-tx", "reactor", "micrometer-core", "spring-boot-actuator", "leasehold-jdbc")) {
            // The classes of Spring Data cannot be linked without some of these.
            assertThat(output(List.of(absent, "spring-data", "lettuce", OF_BOOT_4), "--leasehold.uri=memory:"))
                    .as("without " + absent)
                    .contains("held minimal");
        }
    }

    @Test
    void aStoreThatIsNotOnTheClassPathIsNamed() throws IOException, InterruptedException {
        assertThat(output(OPTIONAL, "--leasehold.uri=redis://localhost"))
                .contains("APPLICATION FAILED TO START", "add the artefact io.leasehold:leasehold-redis");
    }
}
