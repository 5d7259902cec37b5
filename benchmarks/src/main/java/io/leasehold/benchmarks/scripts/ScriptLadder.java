package io.leasehold.benchmarks.scripts;

import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * {@code benchmarks/run scripts [ROUNDS [MILLIS]]}: measures the server's processor time for a pair of scripts, for one
 * form of script after the other, in adjacent windows.
 *
 * <p>32 locks are acquired, then released, with all calls of each in flight at once and without contention. The names
 * belong to a thousand groups, so that fences exist after a while, as for locks that are used repeatedly.
 */
public final class ScriptLadder {

    private static final int LOCKS = 32;
    private static final int GROUPS = 1_000;

    private ScriptLadder() {}

    /** Prints the table. */
    public static void main(String[] arguments) throws IOException {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 21;
        long millis = arguments.length > 1 ? Long.parseLong(arguments[1]) : 100;
        List<Step> steps = Step.ladder();
        double[][] micros = new double[steps.size()][rounds];
        try (RedisServer server = RedisServer.builder().start();
                Pipeline redis = new Pipeline(server.port())) {
            for (int round = -1; round < rounds; round++) {
                for (int step = 0; step < steps.size(); step++) {
                    double cost = window(redis, steps.get(step), millis);
                    // The first round is a warm-up.
                    if (round >= 0) {
                        micros[step][round] = cost;
                    }
                }
            }
        }
        print(steps, micros);
    }

    private static void print(List<Step> steps, double[][] micros) {
        System.out.println("| scripts | µs per pair | ÷ raw |");
        System.out.println("|---|--:|--:|");
        for (int step = 0; step < steps.size(); step++) {
            double[] costs = micros[step];
            double[] ratios = new double[costs.length];
            for (int round = 0; round < costs.length; round++) {
                ratios[round] = costs[round] / micros[0][round];
            }
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.1f (%.1f–%.1f) | %.2f |%n",
                    steps.get(step).name(),
                    median(costs),
                    Arrays.stream(costs).min().orElse(0),
                    Arrays.stream(costs).max().orElse(0),
                    median(ratios));
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** The server's processor time for a pair. */
    private static double window(Pipeline redis, Step step, long millis) throws IOException {
        redis.call("FLUSHALL");
        String acquire = redis.call("SCRIPT", "LOAD", step.acquire());
        String release = redis.call("SCRIPT", "LOAD", step.release());
        long pairs = 0;
        long token = 0;
        double before = processorMicros(redis);
        for (long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis); System.nanoTime() - end < 0; ) {
            token = Math.max(token + 1, System.currentTimeMillis() * 1_000);
            List<Step.Part> taking = new ArrayList<>();
            List<Step.Part> freeing = new ArrayList<>();
            for (int i = 0; i < LOCKS; i++) {
                String lock = "lock:{order:" + (pairs / LOCKS % GROUPS * LOCKS + i) + "}";
                String text = Long.toString(token);
                taking.add(step.taking().apply(lock, text));
                freeing.add(step.freeing().apply(lock, text));
            }
            run(redis, acquire, taking, step.together());
            run(redis, release, freeing, step.together());
            pairs += LOCKS;
        }
        return (processorMicros(redis) - before) / pairs;
    }

    private static void run(Pipeline redis, String digest, List<Step.Part> parts, int together) throws IOException {
        for (int i = 0; i < parts.size(); i += together) {
            redis.add(Step.call(digest, parts.subList(i, i + together)));
        }
        for (@Nullable Object answer : redis.answers()) {
            if ("0".equals(answer) || (answer instanceof List<?> items && items.contains("0"))) {
                throw new IllegalStateException("a lock was not taken or freed: " + answer);
            }
        }
    }

    static double processorMicros(Pipeline redis) throws IOException {
        return redis.call("INFO", "cpu")
                        .lines()
                        .filter(line -> line.startsWith("used_cpu_sys:") || line.startsWith("used_cpu_user:"))
                        .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(':') + 1)))
                        .sum()
                * 1_000_000;
    }
}
