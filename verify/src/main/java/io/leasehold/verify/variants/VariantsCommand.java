package io.leasehold.verify.variants;

import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code variants}: removes each rule from the production classes in turn. */
@Command(
        name = "variants",
        mixinStandardHelpOptions = true,
        description = {
            "Removes one rule after another from the production classes, and runs the simulator until it detects that,",
            "then the tests that exhaust single rules; or only these. Prints where each variant was detected.",
            "Exit code: 0 all were, 1 one was not."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class VariantsCommand implements Callable<Integer> {

    /** Called by picocli. */
    public VariantsCommand() {}

    @Option(names = "--runs", paramLabel = "N", description = "Maximum number of seeds for each variant. Default: 3000")
    private int runs = 3_000;

    @Option(names = "--only", paramLabel = "NAME", description = "Only this variant.")
    private @Nullable String only;

    @Option(names = "--store", paramLabel = "redis|sql|etcd|zookeeper", description = "Only this store's variants.")
    private @Nullable String store;

    @Option(
            names = "--part",
            paramLabel = "I/N",
            description = "Only each N-th variant, beginning with the I-th. Default: 1/1, all of them")
    private String part = "1/1";

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--project", hidden = true, description = "The folder of the project, whose sources are changed.")
    private Path project = Path.of("");

    @Override
    public Integer call() throws Exception {
        Path target = Files.createTempDirectory("leasehold-variants-");
        int caught = 0;
        int tested = 0;
        Part of = Part.of(part, spec);
        int index = 0;
        try {
            for (Suite suite : chosen()) {
                for (Variant variant : suite.variants()) {
                    if (of.contains(index++) && (only == null || only.equals(variant.name()))) {
                        tested++;
                        caught += isCaught(suite, variant, target) ? 1 : 0;
                    }
                }
            }
        } finally {
            delete(target);
        }
        System.out.println("variants: " + caught + " of " + tested + " caught");
        return caught == tested && tested > 0 ? 0 : 1;
    }

    /** Each {@code count}-th variant, beginning with the {@code first}-th, which counts from 1. */
    private record Part(int first, int count) {

        private static final Pattern FORM = Pattern.compile("([1-9]\\d{0,3})/([1-9]\\d{0,3})");

        static Part of(String text, @Nullable CommandSpec spec) {
            Matcher form = FORM.matcher(text);
            if (form.matches()) {
                Part part = new Part(Integer.parseInt(form.group(1)), Integer.parseInt(form.group(2)));
                if (part.first <= part.count) {
                    return part;
                }
            }
            throw new ParameterException(
                    Objects.requireNonNull(spec).commandLine(),
                    "--part is I/N, with I from 1 to N, for example 1/2; it was \"" + text + "\"");
        }

        boolean contains(int index) {
            return index % count == first - 1;
        }
    }

    private boolean isCaught(Suite suite, Variant variant, Path target) throws Exception {
        String where = hunt(suite, variant, target.resolve(variant.name()));
        System.out.printf(
                Locale.ROOT,
                "  %-30s %s (%s)%n",
                variant.name(),
                where.isEmpty() ? "NOT CAUGHT in " + runs + " runs and the tests" : where,
                variant.broken());
        return !where.isEmpty();
    }

    /** A store, the variants of its code, and the hunters for them; several modules may contain that code. */
    private record Suite(
            String store, List<Variant> variants, Class<? extends IntFunction<String>> hunter, boolean hasTests) {

        private static List<Suite> all() {
            return List.of(
                    new Suite("redis", Variants.all(), Hunt.class, true),
                    new Suite("redis", CheckVariants.all(), Hunt.class, true),
                    new Suite("redis", JointVariants.calls(), JointHunt.OfCalls.class, false),
                    new Suite("redis", JointVariants.scripts(), JointHunt.OfScripts.class, false),
                    new Suite("redis", MemberVariants.all(), JointHunt.OfMembers.class, false),
                    new Suite("redis", SharedVariants.all(), JointHunt.OfShared.class, false),
                    new Suite("redis", LineVariants.all(), JointHunt.OfLine.class, false),
                    new Suite("redis", ToldVariants.all(), JointHunt.OfTold.class, false),
                    new Suite("redis", ClaimVariants.all(), JointHunt.OfClaims.class, false),
                    new Suite("redis", FencingVariants.all(), JointHunt.OfFencing.class, false),
                    new Suite("redis", PermitVariants.all(), JointHunt.OfPermits.class, false),
                    new Suite("sql", SqlVariants.all(), SqlHunt.class, false),
                    new Suite("etcd", QueueVariants.etcd(), QueueHunt.OfEtcd.class, false),
                    new Suite("zookeeper", QueueVariants.zooKeeper(), QueueHunt.OfZooKeeper.class, false));
        }
    }

    private List<Suite> chosen() {
        return Suite.all().stream()
                .filter(one -> store == null || store.equals(one.store()))
                .toList();
    }

    private Path sourceOf(Variant variant) throws IOException {
        try (Stream<Path> modules = Files.list(project.toAbsolutePath())) {
            String folder = variant.isClass() ? "src/main/java/io/leasehold" : "src/main/resources/io/leasehold";
            return modules.map(module -> module.resolve(folder).resolve(variant.source()))
                    .filter(Files::exists)
                    .findFirst()
                    .orElseThrow(() -> new NoSuchFileException(variant.source()));
        }
    }

    private String hunt(Suite suite, Variant variant, Path target) throws Exception {
        try (URLClassLoader loader = Overlay.of(variant, sourceOf(variant), target)) {
            @SuppressWarnings("unchecked")
            IntFunction<String> hunt = (IntFunction<String>)
                    loader.loadClass(suite.hunter().getName()).getConstructor().newInstance();
            String where = hunt.apply(runs);
            if (!where.isEmpty() || !suite.hasTests()) {
                return where;
            }
            @SuppressWarnings("unchecked")
            Supplier<String> tests = (Supplier<String>)
                    loader.loadClass(TestHunt.class.getName()).getConstructor().newInstance();
            return tests.get();
        }
    }

    private static void delete(Path directory) throws IOException {
        try (var files = Files.walk(directory)) {
            for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
