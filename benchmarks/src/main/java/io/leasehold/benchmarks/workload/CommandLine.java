package io.leasehold.benchmarks.workload;

import static io.leasehold.benchmarks.peer.PeerKind.LEASEHOLD;

import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The time of the command line from start to end: for printing its version, and for holding a lock while {@code true}
 * runs.
 */
final class CommandLine implements Workload {

    /** Names the command; benchmarks/run sets it. */
    private static final String COMMAND = "leasehold.command";

    private static final int WARM_UPS = 2;

    @Override
    public String id() {
        return "cli";
    }

    @Override
    public String title() {
        return "start of the command line until its end";
    }

    @Override
    public boolean isSeries() {
        return true;
    }

    @Override
    public void run(Plan plan, Consumer<Sample> samples) throws InterruptedException {
        String command = System.getProperty(COMMAND);
        if (command == null) {
            System.err.println("cli: left out: -D" + COMMAND + " does not name the command");
            return;
        }
        try (RedisServer server = RedisServer.start()) {
            measure(plan, "--version", List.of(command, "--version"), samples);
            measure(
                    plan,
                    "run, Redis",
                    List.of(command, "run", "--store", server.uri(), "started", "--", "true"),
                    samples);
        }
    }

    private void measure(Plan plan, String variant, List<String> command, Consumer<Sample> samples)
            throws InterruptedException {
        if (plan.among(LEASEHOLD).isEmpty()) {
            return;
        }
        for (int round = -WARM_UPS; round < plan.rounds(); round++) {
            Map<Figure, Double> figures = timed(command);
            if (round >= 0) {
                samples.accept(new Sample(id(), variant, LEASEHOLD, round, figures, Map.of()));
            }
        }
    }

    private static Map<Figure, Double> timed(List<String> command) throws InterruptedException {
        List<String> timed = new ArrayList<>(List.of("bash", "-c", "TIMEFORMAT='%U %S'; time \"$@\"", "timed"));
        timed.addAll(command);
        try {
            Path errors = Files.createTempFile("leasehold-cli", ".err");
            long begunNanos = System.nanoTime();
            Process process = new ProcessBuilder(timed)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(errors.toFile())
                    .start();
            int exitCode = process.waitFor();
            double millis = (System.nanoTime() - begunNanos) / 1e6;
            List<String> said = Files.readAllLines(errors, StandardCharsets.UTF_8);
            Files.delete(errors);
            if (exitCode != 0) {
                throw new IllegalStateException(command + " ended with " + exitCode + ": " + said);
            }
            String[] seconds = said.get(said.size() - 1).split(" ", -1);
            Map<Figure, Double> figures = new EnumMap<>(Figure.class);
            figures.put(Figure.START_MILLIS, millis);
            figures.put(
                    Figure.START_CPU_MILLIS, (Double.parseDouble(seconds[0]) + Double.parseDouble(seconds[1])) * 1e3);
            return figures;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
