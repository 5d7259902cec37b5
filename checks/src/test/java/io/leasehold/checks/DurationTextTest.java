package io.leasehold.checks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.BinaryTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.CompoundAssignmentTree;
import com.sun.source.tree.ConditionalExpressionTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.lang.model.element.Element;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.DeclaredType;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Messages show durations as users type them ({@code 30s}, {@code 1h30m}), not in ISO form ({@code PT30S}). */
@Tag("full")
class DurationTextTest {

    private static final String DURATION = "java.time.Duration";

    /** The modules whose messages reach users. Those of harnesses reach only their developers. */
    private static final List<Module> SHOWN = List.of(
            Module.CORE,
            Module.REDIS,
            Module.JEDIS,
            Module.JDBC,
            Module.ZOOKEEPER,
            Module.ETCD,
            Module.MICROMETER,
            Module.REACTOR,
            Module.CDI,
            Module.SPRING,
            Module.SPRING_BOOT,
            Module.SPRING_BOOT_TEST,
            Module.SHEDLOCK,
            Module.SPRING_INTEGRATION,
            Module.DB_SCHEDULER,
            Module.CLI);

    @Test
    void noMessageShowsADurationInIsoForm() throws IOException {
        List<Path> files = SHOWN.stream()
                .flatMap(module -> Module.filesBelow(module.sources(), ".java").stream())
                .filter(file -> !file.endsWith("module-info.java"))
                .toList();
        try (StandardJavaFileManager manager = compiler().getStandardFileManager(null, null, UTF_8)) {
            assertThat(found(manager.getJavaFileObjectsFromPaths(files)))
                    .as("a Duration in a text is written in ISO form: use Durations.text")
                    .isEmpty();
        }
    }

    @Test
    void aDurationInATextIsFoundHoweverItGetsThere() throws IOException {
        String source = """
            import java.time.Duration;
            class X {
                String text = "";
                String one(Duration d) { return "a" + 1 + d; }
                String two(Duration d) { return d.plus(d) + "b"; }
                String three(Duration d) { return "a" + (d.isZero() ? "none" : d); }
                void four(Duration d) { text += d; }
                String five(Duration d) { return String.format("%s %s", 1, d); }
                String six(Duration d) { return "%s".formatted(d); }
                void seven(org.slf4j.Logger log, Duration d) { log.warn("{}", d); }
                void eight(org.slf4j.Logger log, Duration d) { log.atWarn().log("{}", d); }
                void nine(StringBuilder text, Duration d) { text.append(d); }
                void fine(org.slf4j.Logger log, Duration d) { log.atWarn().addKeyValue("d", d).log("" + d.toMillis()); }
                Object fine(Duration d) { return java.util.List.of("a" + text(d), d); }
                String text(Duration d) { return d.toMillis() + "ms"; }
            }
            """;
        JavaFileObject file = new SimpleJavaFileObject(URI.create("string:///X.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreErrors) {
                return source;
            }
        };

        assertThat(found(List.of(file)))
                .extracting(line -> line.replaceAll(".*X\\.java:", ""))
                .containsExactly("4", "5", "6", "7", "8", "9", "10", "11", "12");
    }

    private static JavaCompiler compiler() {
        return ToolProvider.getSystemJavaCompiler();
    }

    /** The lines that put a duration into a text. */
    private static List<String> found(Iterable<? extends JavaFileObject> files) throws IOException {
        // Optional libraries are missing here; what has a type of theirs is no Duration. All else is checked
        // nevertheless.
        List<String> options = List.of(
                "-proc:none",
                "-XDshould-stop.ifError=ATTR",
                "-XDshould-stop.ifNoError=ATTR",
                "-classpath",
                System.getProperty("java.class.path"));
        JavacTask task = (JavacTask) compiler().getTask(null, null, problem -> {}, options, null, files);
        List<CompilationUnitTree> units = StreamSupport.stream(task.parse().spliterator(), false)
                .map(CompilationUnitTree.class::cast)
                .toList();
        task.analyze();
        Texts texts = new Texts(Trees.instance(task));
        units.forEach(unit -> texts.scan(unit, null));
        return texts.found;
    }

    /** Visits everything that makes a text out of values. */
    private static final class Texts extends TreePathScanner<@Nullable Void, @Nullable Void> {
        private final Trees trees;
        private final List<String> found = new ArrayList<>();

        Texts(Trees trees) {
            this.trees = trees;
        }

        @Override
        public @Nullable Void visitBinary(BinaryTree sum, @Nullable Void nothing) {
            if (sum.getKind() == Tree.Kind.PLUS && isOf(sum, "java.lang.String")) {
                check(sum, Stream.of(sum.getLeftOperand(), sum.getRightOperand()));
            }
            return super.visitBinary(sum, null);
        }

        @Override
        public @Nullable Void visitCompoundAssignment(CompoundAssignmentTree sum, @Nullable Void nothing) {
            if (isOf(sum.getVariable(), "java.lang.String")) {
                check(sum, Stream.of(sum.getExpression()));
            }
            return super.visitCompoundAssignment(sum, null);
        }

        @Override
        public @Nullable Void visitMethodInvocation(MethodInvocationTree call, @Nullable Void nothing) {
            Element method = trees.getElement(new TreePath(getCurrentPath(), call.getMethodSelect()));
            if (method != null && method.getEnclosingElement() instanceof TypeElement owner) {
                String name = method.getSimpleName().toString();
                boolean formats = (owner.getQualifiedName().contentEquals("java.lang.String")
                                && (name.equals("format") || name.equals("formatted")))
                        || name.equals("append");
                boolean logs =
                        owner.getQualifiedName().toString().startsWith("org.slf4j.") && !name.equals("addKeyValue");
                if (formats || logs) {
                    check(call, call.getArguments().stream());
                }
            }
            return super.visitMethodInvocation(call, null);
        }

        private void check(Tree text, Stream<? extends ExpressionTree> parts) {
            if (parts.flatMap(Texts::values).anyMatch(part -> isOf(part, DURATION))) {
                CompilationUnitTree unit = getCurrentPath().getCompilationUnit();
                long at = trees.getSourcePositions().getStartPosition(unit, text);
                found.add(
                        unit.getSourceFile().getName() + ":" + unit.getLineMap().getLineNumber(at));
            }
        }

        /** The expressions that may be the value of this one. */
        private static Stream<ExpressionTree> values(ExpressionTree part) {
            if (part instanceof ParenthesizedTree inner) {
                return values(inner.getExpression());
            } else if (part instanceof ConditionalExpressionTree choice) {
                return Stream.concat(values(choice.getTrueExpression()), values(choice.getFalseExpression()));
            }
            return Stream.of(part);
        }

        private boolean isOf(Tree expression, String type) {
            return trees.getTypeMirror(new TreePath(getCurrentPath(), expression)) instanceof DeclaredType known
                    && known.asElement() instanceof TypeElement element
                    && element.getQualifiedName().contentEquals(type);
        }
    }
}
