package io.leasehold.verify.variants;

import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code variants}: each rule left out of the production classes in turn. */
@Command(
        name = "variants",
        mixinStandardHelpOptions = true,
        description = {
            "Compiles one production class after another without one of its rules, and runs the simulator over it until",
            "something is found, then the tests that exhaust single rules. Prints where each was caught. Exit code: 0 all",
            "were, 1 one was not."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class VariantsCommand implements Callable<Integer> {

    /** For picocli. */
    public VariantsCommand() {}

    @Option(names = "--runs", paramLabel = "N", description = "Seeds for each variant, at most. Default: 3000")
    private int runs = 3_000;

    @Option(names = "--only", paramLabel = "NAME", description = "This variant alone.")
    private @Nullable String only;

    @Option(names = "--store", paramLabel = "redis|sql|etcd|zookeeper", description = "Those of this store alone.")
    private @Nullable String store;

    @Option(names = "--sql-sources", hidden = true, description = "The sources of the lease table.")
    private Path sqlSources = Path.of("leasehold-jdbc/src/main/java/io/leasehold");

    @Option(names = "--sources", hidden = true, description = "The sources of core.")
    private Path sources = Path.of("leasehold-core/src/main/java/io/leasehold");

    @Override
    public Integer call() throws Exception {
        Path target = Files.createTempDirectory("leasehold-variants-");
        int caught = 0;
        int tried = 0;
        try {
            for (Variant variant : chosen()) {
                if (only == null || only.equals(variant.name())) {
                    tried++;
                    String where = hunt(variant, target.resolve(variant.name()));
                    caught += where.isEmpty() ? 0 : 1;
                    System.out.printf(
                            Locale.ROOT,
                            "  %-30s %s (%s)%n",
                            variant.name(),
                            where.isEmpty() ? "NOT CAUGHT in " + runs + " runs and the tests" : where,
                            variant.broken());
                }
            }
        } finally {
            delete(target);
        }
        System.out.println("variants: " + caught + " of " + tried + " caught");
        return caught == tried && tried > 0 ? 0 : 1;
    }

    private List<Variant> chosen() {
        List<Variant> chosen = new ArrayList<>();
        if (store == null || store.equals("redis")) {
            chosen.addAll(Variants.all());
        }
        if (store == null || store.equals("sql")) {
            chosen.addAll(SqlVariants.all());
        }
        if (store == null || store.equals("etcd")) {
            chosen.addAll(QueueVariants.etcd());
        }
        if (store == null || store.equals("zookeeper")) {
            chosen.addAll(QueueVariants.zooKeeper());
        }
        return chosen;
    }

    /** The sources of a store's module stand beside those of core. */
    private Path sourcesOf(String module) {
        return Path.of(sources.toString().replace("leasehold-core", module));
    }

    private String hunt(Variant variant, Path target) throws Exception {
        boolean isSql = SqlVariants.all().contains(variant);
        boolean isEtcd = QueueVariants.etcd().contains(variant);
        boolean isZooKeeper = QueueVariants.zooKeeper().contains(variant);
        Path from = isSql
                ? sqlSources
                : isEtcd ? sourcesOf("leasehold-etcd") : isZooKeeper ? sourcesOf("leasehold-zookeeper") : sources;
        try (URLClassLoader loader = Overlay.of(variant, from, target)) {
            Class<?> hunter = isSql
                    ? SqlHunt.class
                    : isEtcd ? QueueHunt.OfEtcd.class : isZooKeeper ? QueueHunt.OfZooKeeper.class : Hunt.class;
            @SuppressWarnings("unchecked")
            IntFunction<String> hunt = (IntFunction<String>)
                    loader.loadClass(hunter.getName()).getConstructor().newInstance();
            String where = hunt.apply(runs);
            if (!where.isEmpty() || isSql || isEtcd || isZooKeeper) {
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
