package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.DocumentationTool;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The Javadoc of the published libraries builds without a warning, with every check of doclint. The result stays in
 * {@code checks/target/javadoc} for browsing.
 */
@Tag("full")
class JavadocTest {

    static final List<Module> LIBRARIES = List.of(
            Module.CORE,
            Module.REDIS,
            Module.JEDIS,
            Module.JDBC,
            Module.ZOOKEEPER,
            Module.ETCD,
            Module.REACTOR,
            Module.CDI,
            Module.SERVERS,
            Module.TESTKIT,
            Module.SIMULATOR);

    /** Their examples need an application, so they are not compiled here. */
    private static final List<Module> ADAPTERS =
            List.of(Module.MICROMETER, Module.SHEDLOCK, Module.SPRING_INTEGRATION, Module.DB_SCHEDULER);

    /** A sentence describes the result and the exceptions if they matter; a tag that repeats it is not required. */
    private static final Pattern ONLY_A_TAG =
            Pattern.compile("no @(param|return|throws) .*|no @return", Pattern.DOTALL);

    private static final Path SITE = Module.root().resolve("checks/target/javadoc");

    @Test
    void buildsWithoutAWarning() throws IOException {
        deleteSite();
        DocumentationTool javadoc = ToolProvider.getSystemDocumentationTool();
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        List<Path> sources = Stream.concat(LIBRARIES.stream(), ADAPTERS.stream())
                .flatMap(module -> Module.filesBelow(module.sources(), ".java").stream())
                .filter(file -> !file.endsWith("module-info.java"))
                .toList();
        boolean built;
        try (StandardJavaFileManager files =
                javadoc.getStandardFileManager(said, Locale.ROOT, StandardCharsets.UTF_8)) {
            built = javadoc.getTask(null, files, said, null, options(), files.getJavaFileObjectsFromPaths(sources))
                    .call();
        }
        List<String> complaints = new ArrayList<>();
        for (Diagnostic<? extends JavaFileObject> one : said.getDiagnostics()) {
            String message = one.getMessage(Locale.ROOT);
            boolean counts = one.getKind() == Diagnostic.Kind.WARNING
                    || one.getKind() == Diagnostic.Kind.MANDATORY_WARNING
                    || one.getKind() == Diagnostic.Kind.ERROR;
            if (counts && !ONLY_A_TAG.matcher(message).matches() && !isSerializedForm(one)) {
                JavaFileObject source = one.getSource();
                complaints.add((source == null ? "" : source.getName() + ":" + one.getLineNumber() + ": ") + message);
            }
        }
        assertThat(complaints).isEmpty();
        assertThat(built).as("javadoc").isTrue();
        assertThat(SITE.resolve("index.html")).exists();
        assertThat(SITE.resolve("io/leasehold/package-summary.html")).exists();
    }

    /** Private fields of exceptions, which Javadoc reports because exceptions are serializable. */
    private static boolean isSerializedForm(Diagnostic<? extends JavaFileObject> one) {
        if (one.getSource() == null || !one.getMessage(Locale.ROOT).equals("no comment")) {
            return false;
        }
        List<String> lines =
                Module.read(Path.of(one.getSource().toUri())).lines().toList();
        return lines.get((int) one.getLineNumber() - 1).strip().startsWith("private ");
    }

    /** Otherwise the pages of deleted types would stay. */
    private static void deleteSite() throws IOException {
        if (!Files.exists(SITE)) {
            return;
        }
        try (Stream<Path> files = Files.walk(SITE)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private static List<String> options() {
        return List.of(
                "-Xdoclint:all",
                "-Xmaxwarns",
                "100000",
                "-quiet",
                "-notimestamp",
                "-encoding",
                "UTF-8",
                "--release",
                "17",
                "-windowtitle",
                "Leasehold",
                "-doctitle",
                "Leasehold",
                "-group",
                "For applications",
                "io.leasehold:io.leasehold.admin:io.leasehold.fencing",
                "-group",
                "For tests",
                "io.leasehold.testkit*:io.leasehold.simulator*:io.leasehold.servers*",
                "-d",
                SITE.toString(),
                "-classpath",
                System.getProperty("java.class.path"));
    }
}
