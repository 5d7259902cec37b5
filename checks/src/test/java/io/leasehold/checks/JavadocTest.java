package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.DocumentationTool;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Javadoc of what is published as a library builds with everything that doclint knows, and says nothing. */
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

    /** A sentence says what comes back and what is thrown where that matters; a tag that repeats it is not asked for. */
    private static final Pattern ONLY_A_TAG =
            Pattern.compile("no @(param|return|throws) .*|no @return", Pattern.DOTALL);

    @TempDir
    private Path scratch;

    @Test
    void buildsWithoutAWarning() throws IOException {
        DocumentationTool javadoc = ToolProvider.getSystemDocumentationTool();
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        List<Path> sources = LIBRARIES.stream()
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
        assertThat(scratch.resolve("io/leasehold/package-summary.html")).exists();
    }

    /** Private fields of exceptions, which Javadoc asks about since they could be serialized. */
    private static boolean isSerializedForm(Diagnostic<? extends JavaFileObject> one) {
        if (one.getSource() == null || !one.getMessage(Locale.ROOT).equals("no comment")) {
            return false;
        }
        List<String> lines =
                Module.read(Path.of(one.getSource().toUri())).lines().toList();
        return lines.get((int) one.getLineNumber() - 1).strip().startsWith("private ");
    }

    private List<String> options() {
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
                "-d",
                scratch.toString(),
                "-classpath",
                System.getProperty("java.class.path"));
    }
}
