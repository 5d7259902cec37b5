package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Classes that depend on each other in a cycle can only be understood together. At most three top-level classes of a
 * package may form such a cycle; nested classes count as part of the class around them.
 */
@Tag("quick")
class CyclesTest {

    private static final int MAX_CLASSES = 3;

    private static final Pattern DEPENDENCY =
            Pattern.compile("^ +(io\\.leasehold\\.\\S+) +-> (io\\.leasehold\\.\\S+)", Pattern.MULTILINE);

    @Test
    void noMoreThanThreeClassesOfAPackageDependOnEachOtherInACircle() {
        Set<String> tooLarge = new TreeSet<>();
        dependenciesByPackage()
                .forEach((name, dependencies) -> cycles(dependencies).stream()
                        .filter(cycle -> cycle.size() > MAX_CLASSES)
                        .forEach(cycle -> tooLarge.add(name + ": " + String.join(" ", cycle))));

        assertThat(tooLarge).isEmpty();
    }

    @Test
    void aCycleIsFoundWithAllItsClassesAndWithoutItsNeighbours() {
        Map<String, Set<String>> dependencies = Map.of(
                "Above", Set.of("A"),
                "A", Set.of("B"),
                "B", Set.of("C", "A"),
                "C", Set.of("D", "Below"),
                "D", Set.of("A"),
                "Below", Set.of("X"),
                "X", Set.of("Y"),
                "Y", Set.of("X"));

        assertThat(cycles(dependencies)).containsExactlyInAnyOrder(Set.of("A", "B", "C", "D"), Set.of("X", "Y"));
    }

    @Test
    void classesThatDependOnEachOtherInOneDirectionFormNoCycle() {
        assertThat(cycles(Map.of("A", Set.of("B", "C"), "B", Set.of("C")))).isEmpty();
    }

    /**
     * Package, top-level class, and the other top-level classes of the package that it depends on. Read with the JDK's
     * own tool, because it also counts the types that occur only in the signature of a lambda or a method reference.
     */
    private static Map<String, Map<String, Set<String>>> dependenciesByPackage() {
        Map<String, Map<String, Set<String>>> packages = new TreeMap<>();
        for (Module module : Module.withSources()) {
            DEPENDENCY.matcher(jdeps(module)).results().forEach(found -> {
                String user = topLevel(found.group(1));
                String used = topLevel(found.group(2));
                if (packageOf(user).equals(packageOf(used)) && !user.equals(used)) {
                    packages.computeIfAbsent(packageOf(user), name -> new TreeMap<>())
                            .computeIfAbsent(simpleName(user), name -> new TreeSet<>())
                            .add(simpleName(used));
                }
            });
        }
        return packages;
    }

    private static String jdeps(Module module) {
        StringWriter dependencies = new StringWriter();
        StringWriter errors = new StringWriter();
        int exit = ToolProvider.findFirst("jdeps")
                .orElseThrow()
                .run(
                        new PrintWriter(dependencies),
                        new PrintWriter(errors),
                        "-verbose:class",
                        "-filter:none",
                        "--multi-release",
                        "17",
                        module.classes()
                                .resolve("io")
                                .toString()); // without the module's descriptor, which jdeps resolves
        assertThat(exit).as("jdeps of %s: %s%s", module, dependencies, errors).isZero();
        assertThat(dependencies.toString()).as("jdeps of %s", module).containsPattern(DEPENDENCY);
        return dependencies.toString();
    }

    /** The largest sets of classes in which each class depends, directly or indirectly, on every other one. */
    private static Set<Set<String>> cycles(Map<String, Set<String>> dependencies) {
        Map<String, Set<String>> reachable = dependencies.keySet().stream()
                .collect(Collectors.toMap(Function.identity(), name -> reachableFrom(name, dependencies)));
        return dependencies.keySet().stream()
                .filter(name -> reachable.get(name).contains(name))
                .map(name -> reachable.get(name).stream()
                        .filter(other -> reachable.getOrDefault(other, Set.of()).contains(name))
                        .collect(Collectors.<String, Set<String>>toCollection(TreeSet::new)))
                .collect(Collectors.toSet());
    }

    private static Set<String> reachableFrom(String start, Map<String, Set<String>> dependencies) {
        Set<String> reached = new TreeSet<>();
        Deque<String> open = new ArrayDeque<>(List.of(start));
        while (!open.isEmpty()) {
            for (String next : dependencies.getOrDefault(open.remove(), Set.of())) {
                if (reached.add(next)) {
                    open.add(next);
                }
            }
        }
        return reached;
    }

    private static String topLevel(String name) {
        int nested = name.indexOf('$');
        return nested < 0 ? name : name.substring(0, nested);
    }

    private static String packageOf(String name) {
        return name.substring(0, name.lastIndexOf('.'));
    }

    private static String simpleName(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }
}
