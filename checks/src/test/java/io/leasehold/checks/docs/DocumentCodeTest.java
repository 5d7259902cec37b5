package io.leasehold.checks.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.checks.Documents;
import io.leasehold.servers.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every Java block in the documents compiles and runs, with real servers if it names some. */
@Tag("full")
class DocumentCodeTest {

    @TempDir
    private static Path directory;

    private static RedisServer redis;

    @BeforeAll
    static void start() throws Exception {
        redis = RedisServer.builder().durable().start();
        Files.writeString(directory.resolve("balance"), "100");
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @TestFactory
    Stream<DynamicTest> blocksCompileAndRun() {
        return CodeBlock.in(Documents.root(), "java").stream()
                .map(block -> DynamicTest.dynamicTest(block.place(), () -> compileAndRun(block)));
    }

    @TestFactory
    Stream<DynamicTest> thereAreBlocks() {
        return Stream.of("README.md", "README.zh-CN.md", "docs/fencing.md")
                .map(document -> DynamicTest.dynamicTest(
                        document,
                        () -> assertThat(CodeBlock.in(Documents.root(), "java"))
                                .anyMatch(block -> block.document().equals(document))));
    }

    private static void compileAndRun(CodeBlock block) throws Exception {
        String here = block.text()
                .replace("redis://localhost:6379", redis.uri())
                .replace("/var/lib/app/balance", directory.resolve("balance").toString());
        try (Scene scene = Compiled.of(block, here, directory)) {
            if (!block.compiledOnly()) {
                scene.run();
            }
        }
    }
}
