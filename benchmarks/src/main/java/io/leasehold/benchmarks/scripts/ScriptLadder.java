package io.leasehold.benchmarks.scripts;

import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
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
    private static final Set<String> REFUSALS =
            Set.of("unborn", "other", "young", "stale", "refused", "held", "not-ours");

    private ScriptLadder() {}

    /** Prints the table. */
    public static void main(String[] arguments) throws IOException {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 21;
        long millis = arguments.length > 1 ? Long.parseLong(arguments[1]) : 100;
        try (RedisServer server = RedisServer.builder().start();
                Pipeline redis = new Pipeline(server.port())) {
            MemberSteps members = new MemberSteps(info(redis, "server", "run_id:"));
            List<Step> steps = Stream.concat(Step.ladder().stream(), members.ladder().stream())
                    .toList();
            double[][] micros = new double[steps.size()][rounds];
            for (int round = -1; round < rounds; round++) {
                for (int step = 0; step < steps.size(); step++) {
                    redis.call("FLUSHALL");
                    redis.call("SET", MemberSteps.MARKER, members.marker());
                    double cost = window(redis, steps.get(step), millis);
                    // The first round is a warm-up.
                    if (round >= 0) {
                        micros[step][round] = cost;
                    }
                }
            }
            print(steps, micros);
        }
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
            run(redis, acquire, step.head(), taking, step.together());
            run(redis, release, Step.NO_HEAD, freeing, step.together());
            pairs += LOCKS;
        }
        return (processorMicros(redis) - before) / pairs;
    }

    private static void run(Pipeline redis, String digest, Step.Part head, List<Step.Part> parts, int together)
            throws IOException {
        for (int i = 0; i < parts.size(); i += together) {
            redis.add(Step.call(digest, head, parts.subList(i, i + together)));
        }
        for (@Nullable Object answer : redis.answers()) {
            if ("0".equals(answer) || (answer instanceof List<?> items && isRefusal(items))) {
                throw new IllegalStateException("a lock was not taken or freed: " + answer);
            }
        }
    }

    private static boolean isRefusal(List<?> items) {
        return items.contains("0") || REFUSALS.contains(String.valueOf(items.get(0)));
    }

    private static String info(Pipeline redis, String section, String field) throws IOException {
        return redis.call("INFO", section)
                .lines()
                .filter(line -> line.startsWith(field))
                .findFirst()
                .orElseThrow()
                .substring(field.length())
                .strip();
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
