package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every example in the Javadoc compiles against its subject. */
@Tag("full")
class JavadocExamplesTest {

    private static final Pattern EXAMPLE = Pattern.compile("<pre>\\{@code\\R(.*?)\\R[ *]*\\}</pre>", Pattern.DOTALL);
    private static final Pattern MARGIN = Pattern.compile("(?m)^ *\\* ?");
    private static final Pattern TYPE =
            Pattern.compile("^(public |final |abstract |sealed )*(class|interface|record) ");
    private static final int LEAST = 14;

    /** The objects that examples assume: the reader's own. */
    private static final String GIVEN = """
            import io.leasehold.*;
            import io.leasehold.node.*;
            import io.leasehold.fencing.*;
            import io.leasehold.jdbc.*;
            import io.leasehold.jedis.*;
            import io.leasehold.redis.*;
            import io.leasehold.servers.*;
            import io.leasehold.spi.*;
            import io.leasehold.simulator.history.*;
            import io.leasehold.testkit.process.*;
            import io.leasehold.simulator.proxy.*;
            import io.leasehold.testkit.tck.*;
            import io.leasehold.simulator.*;
            import io.leasehold.testkit.virtual.*;
            import io.lettuce.core.*;
            import io.lettuce.core.api.sync.*;
            import java.nio.file.*;
            import java.sql.Connection;
            import java.time.Duration;
            import java.util.*;
            import java.util.concurrent.*;
            import static org.junit.jupiter.api.Assertions.*;

            @SuppressWarnings("all")
            abstract class %s {
                interface Order { Order paid(); }
                interface Orders { Order read(long id, long token); void write(Order order, long token); }
                static final class Worker { public static void main(String[] arguments) {} }
                Orders orders;
                Order order;
                DistributedLock lock;
                Lease lease;
                LockNode node;
                Connection connection;
                long id;
                VersionCheck versions;
                abstract CompletionStage<String> pay(long token);
                static StoreFixture redisFixture() { return null; }
                LockClient oldLocks;
                LockClient newLocks;
                RedisClient client;
                RedisCommands<String, String> redis;
                String changed;
                abstract void work();

                %s
            }
            """;

    @TempDir
    private Path scratch;

    private record Example(Path file, int number, String text) {

        String className() {
            String name = file.getFileName().toString().equals("package-info.java")
                    ? String.valueOf(file.getParent().getFileName()) + "_package"
                    : file.getFileName().toString().replace(".java", "");
            return "Example_" + name + "_" + number;
        }
    }

    private static List<Example> examples() {
        List<Example> examples = new ArrayList<>();
        for (Module module : JavadocTest.LIBRARIES) {
            for (Path file : Module.filesBelow(module.sources(), ".java")) {
                Matcher matcher = EXAMPLE.matcher(Module.read(file));
                for (int number = 1; matcher.find(); number++) {
                    examples.add(new Example(
                            file, number, MARGIN.matcher(matcher.group(1)).replaceAll("")));
                }
            }
        }
        return examples;
    }

    @Test
    void areThere() {
        assertThat(examples()).hasSizeGreaterThanOrEqualTo(LEAST);
    }

    @TestFactory
    List<DynamicTest> compile() {
        return examples().stream()
                .map(example -> DynamicTest.dynamicTest(
                        Module.shown(example.file()) + " " + example.number(), () -> assertCompiles(example)))
                .toList();
    }

    private void assertCompiles(Example example) throws IOException {
        boolean type = TYPE.matcher(example.text()).find();
        String member = type
                ? example.text().replaceFirst("^final class", "static final class")
                : "void example() throws Exception {\n" + example.text() + "\n}";
        String source = GIVEN.formatted(example.className(), member);
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileObject file =
                new SimpleJavaFileObject(
                        URI.create("string:///" + example.className() + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        compiler.getTask(
                        null,
                        null,
                        said,
                        List.of(
                                "-proc:none",
                                "--release",
                                "17",
                                "-d",
                                scratch.toString(),
                                "-classpath",
                                System.getProperty("java.class.path")),
                        null,
                        List.of(file))
                .call();
        assertThat(said.getDiagnostics().stream()
                        .filter(one -> one.getKind() == Diagnostic.Kind.ERROR)
                        .map(one -> one.getMessage(Locale.ROOT)))
                .as(source)
                .isEmpty();
    }
}
