package io.leasehold.checks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The folders of this build that contain production code. */
enum Module {
    CORE("leasehold-core", "io.leasehold.core"),
    REDIS("leasehold-redis", "io.leasehold.redis"),
    JEDIS("leasehold-jedis", "io.leasehold.jedis"),
    JDBC("leasehold-jdbc", "io.leasehold.jdbc"),
    ZOOKEEPER("leasehold-zookeeper", "io.leasehold.zookeeper"),
    ETCD("leasehold-etcd", "io.leasehold.etcd"),
    MICROMETER("leasehold-micrometer", "io.leasehold.micrometer"),
    REACTOR("leasehold-reactor", "io.leasehold.reactor"),
    KOTLIN("leasehold-kotlin", "io.leasehold.kotlin"),
    CDI("leasehold-cdi", "io.leasehold.cdi"),
    SPRING("leasehold-spring", "io.leasehold.spring"),
    SPRING_BOOT("leasehold-spring-boot", "io.leasehold.spring.boot"),
    SPRING_BOOT_TEST("leasehold-spring-boot-starter-test", "io.leasehold.spring.boot.test"),
    SHEDLOCK("leasehold-shedlock", "io.leasehold.shedlock"),
    SPRING_INTEGRATION("leasehold-spring-integration", "io.leasehold.spring.integration"),
    DB_SCHEDULER("leasehold-db-scheduler", "io.leasehold.dbscheduler"),
    SERVERS("leasehold-servers", "io.leasehold.servers"),
    TESTKIT("leasehold-testkit", "io.leasehold.testkit"),
    SIMULATOR("leasehold-simulator", "io.leasehold.simulator"),
    CLI("leasehold-cli", "io.leasehold.cli"),
    DEMO("leasehold-demo", "io.leasehold.demo"),
    VERIFY("verify", "io.leasehold.verify");

    private final String folder;
    private final String moduleName;

    Module(String folder, String moduleName) {
        this.folder = folder;
        this.moduleName = moduleName;
    }

    static Path root() {
        String root = System.getProperty("leasehold.root");
        if (root == null) {
            throw new IllegalStateException("leasehold.root is not set: run these checks with Maven");
        }
        return Path.of(root).toAbsolutePath().normalize();
    }

    /** The modules that have production sources. */
    static List<Module> withSources() {
        return Arrays.stream(values()).filter(Module::hasSources).toList();
    }

    /** The test classes of all folders of this build, including those without production code. */
    static List<Path> testClasses() {
        return Stream.of("Test.java", "Test.kt")
                .flatMap(suffix -> filesBelow(root(), suffix).stream())
                .filter(file ->
                        shown(file).contains("src/test/java/") || shown(file).contains("src/test/kotlin/"))
                .toList();
    }

    String moduleName() {
        return moduleName;
    }

    Path folder() {
        return root().resolve(folder);
    }

    Path sources() {
        return folder().resolve("src/main/java");
    }

    /** The source files in any language. */
    List<Path> sourceFiles() {
        return Stream.concat(
                        filesBelow(sources(), ".java").stream(),
                        filesBelow(folder().resolve("src/main/kotlin"), ".kt").stream())
                .toList();
    }

    Path testSources() {
        return folder().resolve("src/test/java");
    }

    /**
     * The folder of the compiled classes. If there are sources, it must contain classes: otherwise the checks would
     * check nothing.
     */
    Path classes() {
        Path classes = folder().resolve("target/classes");
        if (hasSources() && filesBelow(classes, ".class").isEmpty()) {
            throw new IllegalStateException(
                    folder + " has sources and no classes: run with -am, so that it is compiled");
        }
        return classes;
    }

    boolean hasSources() {
        return !sourceFiles().isEmpty();
    }

    /** All files below a folder whose names have this ending, in a stable order; none if there is no such folder. */
    static List<Path> filesBelow(Path folder, String suffix) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.getFileName().toString().endsWith(suffix))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The name of a file for messages: relative to the root of the repository. */
    static String shown(Path file) {
        return root().relativize(file).toString();
    }
}
