package io.leasehold.checks;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the classes that declare themselves pure: "Pure", before a full stop, a colon or a semicolon, in their Javadoc.
 */
final class PureSources {

    private static final Pattern PURE = Pattern.compile("\\bPure[.:;]");
    private static final Pattern DECLARATION = Pattern.compile(
            "^(public )?((final|sealed|abstract) )*(class|record|interface|enum|package) ", Pattern.MULTILINE);

    private PureSources() {}

    /** The full names of the top-level classes. */
    static Set<String> names() {
        Set<String> names = new HashSet<>();
        for (Module module : List.of(Module.CORE, Module.REDIS, Module.JDBC, Module.CLI)) {
            List<Path> files = Module.filesBelow(module.sources(), ".java");
            Set<Path> purePackages = new HashSet<>();
            for (Path file : files) {
                if (file.endsWith("package-info.java") && saysPure(file)) {
                    purePackages.add(file.getParent());
                }
            }
            for (Path file : files) {
                boolean declares = !file.getFileName().toString().endsWith("-info.java");
                if (declares && (purePackages.contains(file.getParent()) || saysPure(file))) {
                    names.add(className(module, file));
                }
            }
        }
        return names;
    }

    private static boolean saysPure(Path file) {
        String text = Module.read(file);
        int from = file.endsWith("package-info.java") ? 0 : text.indexOf("\n/**");
        Matcher declaration = DECLARATION.matcher(text);
        return from >= 0
                && declaration.find(from)
                && PURE.matcher(text.substring(from, declaration.start())).find();
    }

    private static String className(Module module, Path file) {
        String path = module.sources().relativize(file).toString();
        return path.substring(0, path.length() - ".java".length())
                .replace(file.getFileSystem().getSeparator(), ".");
    }
}
