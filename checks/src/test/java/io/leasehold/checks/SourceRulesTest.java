package io.leasehold.checks;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.LineMap;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.TreeScanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Rules for the text of the sources that the compiler does not check. */
@Tag("quick")
class SourceRulesTest {

    private static final int FILE_LINES = 400;
    private static final int METHOD_LINES = 70;

    private static final Pattern LUA = Pattern.compile("redis\\.p?call\\s*\\(");
    private static final Pattern TEST_METHOD =
            Pattern.compile("^\\s*@(Test|ParameterizedTest|RepeatedTest|TestFactory)\\b", Pattern.MULTILINE);
    private static final Pattern SPEED = Pattern.compile("^@Tag\\(\"(quick|full)\"\\)$", Pattern.MULTILINE);
    private static final Pattern SUPERCLASS = Pattern.compile(
            "^(?:public )?(?:(?:final|abstract|open) )*class \\w+(?: extends |.*: )(\\w+)", Pattern.MULTILINE);
    private static final Pattern INSTANTIABLE =
            Pattern.compile("^(public )?(final )?(class|record) ", Pattern.MULTILINE);

    @Test
    void longFilesAndLongMethodsGiveTheirReason() throws IOException {
        List<String> found = new ArrayList<>();
        for (Module module : Module.withSources()) {
            for (Path file : module.sourceFiles()) {
                String text = Module.read(file);
                long lines = codeLines(text);
                if (lines > FILE_LINES) {
                    found.add(Module.shown(file) + " has " + lines + " code lines");
                }
            }
            List<Path> java = Module.filesBelow(module.sources(), ".java");
            if (!java.isEmpty()) {
                found.addAll(longMethods(java));
            }
        }
        assertThat(found)
                .as(
                        "split files over %s code lines by reason to change; methods over %s lines need their reason in a // comment on"
                                + " the first line of their body",
                        FILE_LINES, METHOD_LINES)
                .isEmpty();
    }

    @Test
    void luaStandsInFilesOfItsOwn() {
        List<String> found = new ArrayList<>();
        for (Module module : Module.withSources()) {
            for (Path file : Module.filesBelow(module.sources(), ".java")) {
                if (LUA.matcher(Module.read(file)).find()) {
                    found.add(Module.shown(file));
                }
            }
        }
        assertThat(found).as("Lua inside Java: make it a .lua resource").isEmpty();
    }

    @Test
    void everyPackageIsNullMarked() {
        List<String> found = new ArrayList<>();
        for (Module module : Module.withSources()) {
            Module.filesBelow(module.sources(), ".java").stream()
                    .filter(file -> !file.getParent().equals(module.sources()))
                    .map(Path::getParent)
                    .distinct()
                    .map(folder -> folder.resolve("package-info.java"))
                    .filter(info -> !Files.exists(info) || !Module.read(info).contains("@NullMarked"))
                    .map(Module::shown)
                    .forEach(found::add);
        }
        assertThat(found).as("package-info.java with @NullMarked is missing").isEmpty();
    }

    @Test
    void testClassesAreNamedSoThatSurefireRunsThem() {
        List<String> found = new ArrayList<>();
        for (Module module : Module.values()) {
            for (Path file : Module.filesBelow(module.testSources(), ".java")) {
                String text = Module.read(file);
                if (TEST_METHOD.matcher(text).find()
                        && INSTANTIABLE.matcher(text).find()
                        && !file.getFileName().toString().endsWith("Test.java")) {
                    found.add(Module.shown(file));
                }
            }
        }
        assertThat(found)
                .as("Surefire silently skips test classes that are not named *Test")
                .isEmpty();
    }

    @Test
    void everyTestClassSaysItsSpeed() {
        List<String> found = new ArrayList<>();
        for (Path file : Module.testClasses()) {
            String text = Module.read(file);
            long speeds = SPEED.matcher(text).results().count();
            if (INSTANTIABLE.matcher(text).find() && speeds != 1) {
                found.add(Module.shown(file) + " has " + speeds);
            }
        }
        assertThat(found)
                .as("each test class carries one of @Tag(\"quick\") and @Tag(\"full\"): neither run takes one without")
                .isEmpty();
    }

    @Test
    void aTestClassHasTheSpeedOfTheOneThatItExtends() {
        Map<String, String> texts = Module.testClasses().stream()
                .collect(Collectors.toMap(Module::shown, Module::read, (one, same) -> one, TreeMap::new));
        assertThat(mixedSpeeds(texts))
                .as(
                        "JUnit inherits @Tag, so a class with another tag than the class that it extends runs in both speeds")
                .isEmpty();
    }

    @Test
    void anotherSpeedThanThatOfAnExtendedClassIsFound() {
        Map<String, String> texts = Map.of(
                "a/AboveTest.java", "@Tag(\"quick\")\nabstract class AboveTest {}",
                "a/SameTest.java", "@Tag(\"quick\")\nclass SameTest extends AboveTest {}",
                "a/OtherTest.java", "@Tag(\"full\")\nfinal class OtherTest extends AboveTest {}",
                "a/BelowOtherTest.java", "@Tag(\"quick\")\nfinal class BelowOtherTest extends OtherTest {}",
                "b/NamedAlikeTest.kt", "@Tag(\"full\")\nclass NamedAlikeTest : SomethingElse() {}");

        assertThat(mixedSpeeds(texts))
                .containsExactlyInAnyOrder(
                        "a/OtherTest.java is full and extends a/AboveTest.java, which is quick",
                        "a/BelowOtherTest.java is quick and extends a/OtherTest.java, which is full");
    }

    /** The classes whose speed differs from that of the class that they extend; keys are names of files. */
    private static List<String> mixedSpeeds(Map<String, String> texts) {
        List<String> found = new ArrayList<>();
        texts.forEach((file, text) -> {
            Matcher superclass = SUPERCLASS.matcher(text);
            if (superclass.find()) {
                String speed = speed(text);
                texts.forEach((other, above) -> {
                    if (simpleName(other).equals(superclass.group(1))
                            && !speed(above).equals(speed)) {
                        found.add(file + " is " + speed + " and extends " + other + ", which is " + speed(above));
                    }
                });
            }
        });
        return found;
    }

    private static String speed(String text) {
        Matcher speed = SPEED.matcher(text);
        return speed.find() ? speed.group(1) : "untagged";
    }

    private static String simpleName(String file) {
        String name = file.substring(file.lastIndexOf('/') + 1);
        return name.substring(0, name.lastIndexOf('.'));
    }

    @Test
    void publicTypesSayWhatTheyAre() throws IOException {
        List<String> found = new ArrayList<>();
        for (Module module : List.of(
                Module.CORE,
                Module.REDIS,
                Module.JEDIS,
                Module.JDBC,
                Module.ZOOKEEPER,
                Module.ETCD,
                Module.REACTOR,
                Module.CDI,
                Module.SPRING,
                Module.SPRING_BOOT,
                Module.SPRING_BOOT_TEST,
                Module.SHEDLOCK,
                Module.SPRING_INTEGRATION,
                Module.DB_SCHEDULER,
                Module.SERVERS,
                Module.TESTKIT,
                Module.SIMULATOR)) {
            List<Path> files = Module.filesBelow(module.sources(), ".java");
            if (!files.isEmpty()) {
                found.addAll(withoutJavadoc(files));
            }
        }
        assertThat(found).as("public types without Javadoc").isEmpty();
    }

    private static long codeLines(String text) {
        // Comment blocks begin on a line of their own, as the formatter leaves them.
        boolean comment = false;
        long lines = 0;
        for (String line : text.lines().map(String::strip).toList()) {
            if (comment) {
                comment = !line.endsWith("*/");
            } else if (line.startsWith("/*")) {
                comment = !line.endsWith("*/");
            } else if (!line.isEmpty() && !line.startsWith("//")) {
                lines++;
            }
        }
        return lines;
    }

    private static List<String> withoutJavadoc(List<Path> files) throws IOException {
        List<String> found = new ArrayList<>();
        eachUnit(
                files,
                (trees, unit) -> new TreePathScanner<@Nullable Void, @Nullable Void>() {
                    @Override
                    public @Nullable Void visitClass(ClassTree type, @Nullable Void nothing) {
                        if (!type.getModifiers().getFlags().contains(Modifier.PUBLIC)) {
                            return null; // the members of a hidden type are hidden, too
                        }
                        if (trees.getDocComment(getCurrentPath()) == null) {
                            found.add(Module.shown(Path.of(unit.getSourceFile().toUri())) + " " + type.getSimpleName());
                        }
                        return super.visitClass(type, null);
                    }
                }.scan(unit, null));
        return found;
    }

    private static List<String> longMethods(List<Path> files) throws IOException {
        List<String> found = new ArrayList<>();
        eachUnit(files, (trees, unit) -> {
            SourcePositions positions = trees.getSourcePositions();
            List<String> text =
                    Module.read(Path.of(unit.getSourceFile().toUri())).lines().toList();
            LineMap lines = unit.getLineMap();
            new TreeScanner<@Nullable Void, @Nullable Void>() {
                @Override
                public @Nullable Void visitMethod(MethodTree method, @Nullable Void nothing) {
                    if (method.getBody() != null) {
                        long from = lines.getLineNumber(positions.getStartPosition(unit, method));
                        long body = lines.getLineNumber(positions.getStartPosition(unit, method.getBody()));
                        long to = lines.getLineNumber(positions.getEndPosition(unit, method));
                        boolean reasoned = text.get((int) body).strip().startsWith("//");
                        if (to - from + 1 > METHOD_LINES && !reasoned) {
                            found.add(Module.shown(Path.of(unit.getSourceFile().toUri())) + ":" + from + " method "
                                    + method.getName() + " has " + (to - from + 1) + " lines");
                        }
                    }
                    return super.visitMethod(method, null);
                }
            }.scan(unit, null);
        });
        return found;
    }

    /** Parses the files, without resolving any name, and passes each to the reader. */
    private static void eachUnit(List<Path> files, BiConsumer<DocTrees, CompilationUnitTree> reader)
            throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, UTF_8)) {
            JavacTask task = (JavacTask) compiler.getTask(
                    null, manager, null, List.of("-proc:none"), null, manager.getJavaFileObjectsFromPaths(files));
            DocTrees trees = DocTrees.instance(task);
            for (CompilationUnitTree unit : task.parse()) {
                reader.accept(trees, unit);
            }
        }
    }
}
