package io.leasehold.verify.variants;

import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import java.util.function.Supplier;
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
            names = "--minutes",
            paramLabel = "M",
            description = "No variant is begun after this time; how many are left is said. Default: no limit")
    private double minutes = Double.POSITIVE_INFINITY;

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Where in the list to begin, for a run that is limited in time. Default: 0")
    private int seed;

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--project", hidden = true, description = "The folder of the project, whose sources are changed.")
    private Path project = Path.of("");

    @Override
    public Integer call() throws Exception {
        if (!(minutes > 0)) {
            throw new ParameterException(
                    Objects.requireNonNull(spec).commandLine(), "--minutes is more than 0; it was " + minutes);
        }
        Path target = Files.createTempDirectory("leasehold-variants-");
        List<Task> tasks = tasks();
        long begun = System.nanoTime();
        int caught = 0;
        int tested = 0;
        try {
            for (Task task : tasks) {
                if ((System.nanoTime() - begun) / 60e9 >= minutes) {
                    break;
                }
                tested++;
                caught += isCaught(task.suite(), task.variant(), target) ? 1 : 0;
            }
        } finally {
            delete(target);
        }
        int left = tasks.size() - tested;
        System.out.println("variants: " + caught + " of " + tested + " caught"
                + (left == 0 ? "" : ", " + left + " not run in " + minutes + " minutes"));
        return caught == tested && tested > 0 ? 0 : 1;
    }

    private record Task(Suite suite, Variant variant) {}

    /** Returns what is to be run, in the order of the lists, beginning where the seed says. */
    private List<Task> tasks() {
        List<Task> tasks = new ArrayList<>();
        for (Suite suite : chosen()) {
            for (Variant variant : suite.variants()) {
                if (only == null || only.equals(variant.name())) {
                    tasks.add(new Task(suite, variant));
                }
            }
        }
        Collections.rotate(tasks, -Math.floorMod(seed, Math.max(1, tasks.size())));
        return tasks;
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
                    new Suite("redis", TicketVariants.all(), JointHunt.OfTickets.class, false),
                    new Suite("redis", SuccessorVariants.all(), JointHunt.OfSuccessors.class, false),
                    new Suite("redis", QuorumTicketVariants.all(), JointHunt.OfQuorumTickets.class, false),
                    new Suite("redis", FencingVariants.all(), JointHunt.OfFencing.class, false),
                    new Suite("redis", PermitVariants.all(), JointHunt.OfPermits.class, false),
                    new Suite("redis", ReaderVariants.all(), JointHunt.OfReaders.class, false),
                    new Suite("redis", QuorumReaderVariants.all(), JointHunt.OfQuorumReaders.class, false),
                    new Suite("redis", MemberReaderVariants.all(), JointHunt.OfMemberReaders.class, false),
                    new Suite("sql", SqlVariants.all(), SqlHunt.class, false),
                    new Suite("sql", FencingVariants.rows(), JointHunt.OfFencedRows.class, false),
                    new Suite("etcd", QueueVariants.etcd(), QueueHunt.OfEtcd.class, false),
                    new Suite("etcd", ReaderVariants.etcd(), QueueHunt.OfEtcdReaders.class, false),
                    new Suite("zookeeper", QueueVariants.zooKeeper(), QueueHunt.OfZooKeeper.class, false),
                    new Suite("zookeeper", ReaderVariants.zooKeeper(), QueueHunt.OfZooKeeperReaders.class, false));
        }
    }

    private List<Suite> chosen() {
        return Suite.all().stream()
                .filter(one -> store == null || store.equals(one.store()))
                .toList();
    }

    /** The variants of all stores. */
    static List<Variant> all() {
        return Suite.all().stream().flatMap(suite -> suite.variants().stream()).toList();
    }

    /** The file of this project that a variant changes. */
    static Path sourceOf(Variant variant, Path project) throws IOException {
        try (Stream<Path> modules = Files.list(project.toAbsolutePath())) {
            String folder = variant.isClass() ? "src/main/java/io/leasehold" : "src/main/resources/io/leasehold";
            return modules.map(module -> module.resolve(folder).resolve(variant.source()))
                    .filter(Files::exists)
                    .findFirst()
                    .orElseThrow(() -> new NoSuchFileException(variant.source()));
        }
    }

    private String hunt(Suite suite, Variant variant, Path target) throws Exception {
        try (URLClassLoader loader = Overlay.of(variant, sourceOf(variant, project), target)) {
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
