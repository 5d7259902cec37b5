package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The named modules resolve on a real module path, and a client finds its stores there with ServiceLoader. */
@Tag("quick")
class ModulePathTest {

    private static final List<Module> NAMED =
            List.of(Module.CORE, Module.REDIS, Module.JDBC, Module.TESTKIT, Module.SIMULATOR);

    @TempDir
    Path scratch;

    @Test
    void aClientOnTheModulePathTakesALock() throws IOException, InterruptedException {
        List<String> missing = NAMED.stream()
                .filter(module -> !Files.exists(module.sources().resolve("module-info.java")))
                .map(Module::moduleName)
                .toList();
        assumeTrue(missing.isEmpty(), "no module-info yet: " + missing);

        Path output = scratch.resolve("output");
        Process child = new ProcessBuilder(command())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(child.waitFor(2, TimeUnit.MINUTES)).as("the child ends").isTrue();
        } finally {
            child.destroyForcibly();
        }
        assertThat(Files.readString(output)).contains("acquired memory:", "acquired sqlite:", "schemes", "redis");
        assertThat(child.exitValue()).isZero();
    }

    private List<String> command() {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--module-path",
                modulePath(),
                "--add-modules",
                NAMED.stream().map(Module::moduleName).collect(Collectors.joining(",")) + ",org.xerial.sqlitejdbc"));
        command.add(
                Module.root().resolve("checks/src/test/modulepath/Probe.java").toString());
        command.add(scratch.resolve("locks.db").toString());
        return command;
    }

    /**
     * The stores' drivers that are not named modules: their archives share packages, and would break any module path.
     */
    private static final List<String> NO_MODULES = List.of(
            "/org/apache/zookeeper/",
            "/io/etcd/",
            "/io/grpc/",
            "/io/vertx/",
            "/io/perfmark/",
            "/com/google/api/",
            "/com/google/guava/",
            "/com/google/protobuf/",
            "/com/fasterxml/",
            "/dev/failsafe/",
            "/javax/annotation/",
            "/commons-io/",
            "/io/dropwizard/",
            "/org/xerial/snappy/",
            "/io/micrometer/",
            "/io/prometheus/",
            "/org/hdrhistogram/",
            "/org/latencyutils/");

    /** The class path of these tests without their own classes and without archives that are not named modules. */
    private static String modulePath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.contains("test-classes"))
                .filter(entry -> NO_MODULES.stream().noneMatch(entry::contains))
                .filter(entry -> !Path.of(entry).startsWith(Module.root())
                        || NAMED.stream().anyMatch(module -> Path.of(entry).startsWith(module.folder())))
                .collect(Collectors.joining(File.pathSeparator));
    }
}
