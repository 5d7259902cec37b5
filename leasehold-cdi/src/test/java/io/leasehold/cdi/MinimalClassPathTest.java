package io.leasehold.cdi;

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

/**
 * Tests that an application without MicroProfile Config and Jakarta Transactions on its class path runs, or reports
 * what it needs.
 */
@Tag("full")
class MinimalClassPathTest {

    private static final List<String> OPTIONAL =
            List.of("microprofile", "smallrye", "transaction", "narayana", "arc", "quarkus", "jta", "cdi-7");

    private static String output(List<String> without, String... arguments) throws IOException, InterruptedException {
        String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> without.stream()
                        .noneMatch(absent ->
                                Path.of(entry).getFileName().toString().contains(absent)))
                .collect(Collectors.joining(File.pathSeparator));
        List<String> command = Stream.concat(
                        Stream.of(
                                Path.of(System.getProperty("java.home"), "bin", "java")
                                        .toString(),
                                "-cp",
                                classPath,
                                MinimalApplication.class.getName()),
                        Stream.of(arguments))
                .toList();
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    @Test
    void aProducerOfTheApplicationIsEnough() throws IOException, InterruptedException {
        assertThat(output(OPTIONAL, "locks")).contains("held minimal");
    }

    @Test
    void interfacesThatNothingImplementsAreAsGoodAsAbsent() throws IOException, InterruptedException {
        assertThat(output(List.of("smallrye", "narayana", "arc", "quarkus", "cdi-7"), "locks"))
                .contains("held minimal");
    }

    @Test
    void aTransactionWhoseCommitCouldNotBeCheckedIsRefused() throws IOException, InterruptedException {
        assertThat(output(List.of("narayana", "arc", "quarkus", "cdi-7"), "locks", "transactions"))
                .contains("Payments.pay() is @Transactional, and its commit could not be checked: there is no"
                        + " TransactionSynchronizationRegistry");
    }

    @Test
    void whatIsMissingIsNamed() throws IOException, InterruptedException {
        assertThat(output(OPTIONAL))
                .contains("there is no bean of type io.leasehold.LockClient. Declare one: @Produces @ApplicationScoped"
                        + " LockClient locks()");
        assertThat(output(OPTIONAL, "locks", "configured"))
                .contains(
                        "there is no setting minimal.name. Add MicroProfile Config to the class path, or write the text"
                                + " itself.");
    }
}
