package io.leasehold.benchmarks;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import io.leasehold.benchmarks.report.Conditions;
import io.leasehold.benchmarks.report.Report;
import io.leasehold.benchmarks.report.RunRecord;
import io.leasehold.benchmarks.workload.Plan;
import io.leasehold.benchmarks.workload.Workload;
import io.leasehold.benchmarks.workload.Workloads;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code benchmarks/run}. */
@Command(
        name = "benchmarks/run",
        description =
                "Measures Leasehold next to other locks, on real servers on 127.0.0.1 that it starts and ends itself.",
        mixinStandardHelpOptions = true,
        exitCodeOnInvalidInput = 64)
public final class Main implements Callable<Integer> {

    private static final String BEGIN = "<!-- figures: begin -->";
    private static final String END = "<!-- figures: end -->";
    private static final List<PeerKind> QUICK_PEERS =
            List.of(PeerKind.LEASEHOLD, PeerKind.LEASEHOLD_STRICT, PeerKind.RAW, PeerKind.REDISSON);
    private static final List<String> QUICK_WORKLOADS = List.of("c", "d", "e", "a");

    private final ObjectMapper json = new ObjectMapper();
    private final List<Workload> workloads = Workloads.all();

    @Spec
    @Nullable
    CommandSpec spec;

    @Parameters(paramLabel = "workload", description = "The workloads to measure; all if none is named (see --list).")
    List<String> chosen = new ArrayList<>();

    @Option(names = "--list", description = "Print the workloads and the peers, and measure nothing.")
    boolean list;

    @Option(names = "--quick", description = "Only Leasehold, raw and Redisson, and c d e a if no workload is named.")
    boolean quick;

    @Option(names = "--peers", split = ",", description = "Measure only these: ${COMPLETION-CANDIDATES}.")
    List<PeerKind> peers = new ArrayList<>();

    @Option(names = "--stores", split = ",", description = "For stores, stores-c, stores-e: only these prefixes.")
    List<String> stores = new ArrayList<>();

    @Option(names = "--rounds", description = "Windows of each peer (5; quick: 3), after up to three for warm-up.")
    int rounds;

    @Option(names = "--window-ms", description = "Length of a window in milliseconds (3000; quick: 1000).")
    int windowMillis;

    @Option(names = "--json", paramLabel = "FILE", description = "Also write every window to this file.")
    @Nullable
    Path jsonFile;

    @Option(
            names = "--from",
            paramLabel = "FILE",
            split = ",",
            description = "Measure nothing: report the contents of these files together.")
    List<Path> from = new ArrayList<>();

    @Option(
            names = "--into",
            paramLabel = "PAGE",
            description = "Also put the report into this page, between its marks.")
    @Nullable
    Path page;

    private boolean failed;

    private Main() {}

    /** The command line. */
    public static void main(String[] args) {
        System.exit(run(args));
    }

    static int run(String... args) {
        return new CommandLine(new Main())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (list) {
            workloads.forEach(workload -> System.out.println(workload.id() + "\t" + workload.title()));
            for (PeerKind peer : PeerKind.values()) {
                System.out.println("--peers " + peer.name().toLowerCase(Locale.ROOT) + "\t" + peer.label());
            }
            return 0;
        }
        RunRecord run = from.isEmpty() ? measure() : read();
        Report report = new Report(
                run,
                workloads.stream().collect(Collectors.toMap(Workload::id, Workload::title)),
                workloads.stream().filter(Workload::isSeries).map(Workload::id).collect(Collectors.toSet()));
        System.out.print(report.text());
        if (jsonFile != null) {
            json.writerWithDefaultPrettyPrinter().writeValue(jsonFile.toFile(), run);
        }
        if (page != null) {
            replaceFigures(page, report.markdown());
        }
        return failed ? 1 : 0;
    }

    private RunRecord read() throws IOException {
        List<RunRecord> runs = new ArrayList<>();
        for (Path file : from) {
            runs.add(json.readValue(file.toFile(), RunRecord.class));
        }
        return RunRecord.together(runs);
    }

    private RunRecord measure() throws InterruptedException {
        List<Workload> selected = selected();
        Plan plan = new Plan(
                peers.isEmpty() ? (quick ? QUICK_PEERS : List.of(PeerKind.values())) : peers,
                stores,
                rounds > 0 ? rounds : quick ? 3 : 5,
                Duration.ofMillis(windowMillis > 0 ? windowMillis : quick ? 1_000 : 3_000),
                !quick);
        Map<String, String> conditions = Conditions.now(command(plan), serverName());
        List<Sample> samples = new ArrayList<>();
        for (Workload workload : selected) {
            System.err.println("measuring " + workload.id() + ": " + workload.title());
            try {
                workload.run(plan, samples::add);
            } catch (RuntimeException e) {
                // The earlier measurements are still worth reporting.
                failed = true;
                e.printStackTrace();
            }
        }
        return new RunRecord(conditions, samples);
    }

    private List<Workload> selected() {
        List<String> ids = !chosen.isEmpty()
                ? chosen
                : quick ? QUICK_WORKLOADS : workloads.stream().map(Workload::id).toList();
        List<Workload> selected = new ArrayList<>();
        for (String id : ids) {
            selected.add(workloads.stream()
                    .filter(workload -> workload.id().equals(id))
                    .findFirst()
                    .orElseThrow(() -> refused("there is no workload '" + id + "'; --list shows them")));
        }
        if (rounds < 0 || windowMillis < 0) {
            throw refused("--rounds and --window-ms must be positive");
        }
        return selected;
    }

    private ParameterException refused(String message) {
        if (spec == null) {
            throw new IllegalStateException(message);
        }
        return new ParameterException(spec.commandLine(), message);
    }

    private String command(Plan plan) {
        String names = selected().stream().map(Workload::id).collect(Collectors.joining(" "));
        return "benchmarks/run " + names + (quick ? " --quick" : "") + " (" + plan.rounds() + " windows of "
                + plan.window().toMillis() + " ms each)";
    }

    private static String serverName() {
        try (RedisServer server = RedisServer.start()) {
            return server.version() + ", no persistence unless stated";
        }
    }

    private static void replaceFigures(Path page, String figures) throws IOException {
        String text = Files.readString(page);
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IOException(page + " has no lines '" + BEGIN + "' and '" + END + "'");
        }
        String replaced = text.substring(0, begin + BEGIN.length()) + "\n\n" + figures + "\n" + text.substring(end);
        Files.write(page, replaced.getBytes(StandardCharsets.UTF_8));
    }
}
