package io.leasehold.benchmarks.scripts;

import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * {@code benchmarks/run contended [ROUNDS [CALLS]]}: measures the server's time for a release that hands over, for a
 * request that joins the queue, and for a renewal of each of 200 locks, by the server's own count of {@code EVALSHA}.
 *
 * <p>Every call finds the same state, which is written before it in the same pipeline. The rounds of all shapes
 * alternate; the first one is a warm-up.
 */
public final class ContendedScripts {

    private static final String CHANNEL = "lock:wake:0123456789abcdef!";
    private static final String LOCK = "lock:{order:1}";
    private static final String HOLDER = "a".repeat(40);
    private static final String WAITER = "b".repeat(40);
    private static final int RENEWED = 200;
    /** Far enough ahead of the clock that tokens depend on nothing else. */
    private static final long TOKEN = 1L << 52;

    private static final String RELEASE = LuaScript.RELEASE.text();

    private ContendedScripts() {}

    /**
     * A measured call.
     *
     * @param before the commands that write the state before each call
     * @param per the number of locks of a call
     */
    private record Shape(String name, String script, List<List<String>> before, List<String> call, int per) {}

    /** Prints the table. */
    public static void main(String[] arguments) throws IOException {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 15;
        int calls = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 400;
        try (RedisServer server = RedisServer.builder().start();
                Pipeline redis = new Pipeline(server.port());
                Pipeline listener = new Pipeline(server.port())) {
            listener.call("SUBSCRIBE", CHANNEL);
            List<Shape> shapes = shapes();
            double[][] micros = new double[shapes.size()][rounds];
            for (int round = -1; round < rounds; round++) {
                for (int i = 0; i < shapes.size(); i++) {
                    double cost = window(redis, shapes.get(i), calls);
                    if (round >= 0) {
                        micros[i][round] = cost;
                    }
                }
            }
            System.out.println("| script | µs |\n|---|--:|");
            for (int i = 0; i < shapes.size(); i++) {
                double[] sorted = micros[i].clone();
                Arrays.sort(sorted);
                System.out.printf(
                        Locale.ROOT,
                        "| %s | %.1f (%.1f–%.1f) |%n",
                        shapes.get(i).name(),
                        sorted[rounds / 2],
                        sorted[0],
                        sorted[rounds - 1]);
            }
        }
    }

    /** The server's time for a call, or for each lock of it. */
    private static double window(Pipeline redis, Shape shape, int calls) throws IOException {
        redis.call("FLUSHALL");
        String digest = redis.call("SCRIPT", "LOAD", shape.script());
        int times = Math.max(1, calls / shape.per());
        redis.call("CONFIG", "RESETSTAT");
        for (int i = 0; i < times; i++) {
            for (List<String> command : shape.before()) {
                redis.add(command);
            }
            redis.add(Stream.concat(Stream.of("EVALSHA", digest), shape.call().stream())
                    .toList());
            List<?> answers = redis.answers();
            String answer = String.valueOf(answers.get(answers.size() - 1));
            if (!answer.startsWith("[released")
                    && !answer.startsWith("[queued")
                    && !answer.startsWith("[200")
                    && !answer.startsWith("[1, 1, 1")) {
                throw new IllegalStateException(shape.name() + " was answered " + answer);
            }
        }
        return micros(redis) / (times * shape.per());
    }

    private static double micros(Pipeline redis) throws IOException {
        String line = redis.call("INFO", "commandstats")
                .lines()
                .filter(one -> one.startsWith("cmdstat_evalsha:"))
                .findFirst()
                .orElseThrow();
        return Double.parseDouble(line.replaceAll(".*,usec=(\\d+),.*", "$1"));
    }

    private static List<Shape> shapes() {
        String value = HOLDER + ":" + TOKEN + ":host/4242/1f2e3d4c";
        String last = "9007199254000000";
        String queue = "2 " + last + " " + last + " 0\n" + WAITER + " 1 " + last + " " + CHANNEL + " 4000 1 host/1/c";
        List<List<String>> held = List.of(
                List.of("DEL", KeyLayout.queued(LOCK)),
                List.of("SET", LOCK, value, "PX", "30000"),
                List.of("SET", KeyLayout.fence(LOCK), Long.toString(TOKEN)));
        List<List<String>> awaited = new ArrayList<>(held);
        awaited.add(List.of("SET", KeyLayout.queued(LOCK), queue));
        String token = Long.toString(TOKEN + 1);
        List<List<String>> many = new ArrayList<>();
        List<String> each = new ArrayList<>(List.of(Integer.toString(RENEWED)));
        for (int i = 0; i < RENEWED; i++) {
            each.add("lock:{many:" + i + "}");
            many.add(List.of("SET", "lock:{many:" + i + "}", value, "PX", "20000"));
        }
        List<String> together = new ArrayList<>(each);
        together.add("30000");
        for (int i = 0; i < RENEWED; i++) {
            each.addAll(List.of(HOLDER, "30000"));
            together.add(HOLDER + ":");
        }
        return List.of(
                new Shape("a release hands over, and reads INFO", RELEASE, awaited, call(HOLDER, "0", "volatile"), 1),
                new Shape("a release hands over: as it is", RELEASE, awaited, call(HOLDER, "0", "0a1b"), 1),
                new Shape(
                        "a waiter joins the queue",
                        LuaScript.ACQUIRE.text(),
                        held,
                        call(
                                WAITER + ":" + token + ":host/1/c",
                                "30000",
                                token,
                                token,
                                "600000",
                                CHANNEL,
                                "4000",
                                "0a1b"),
                        1),
                new Shape("a renewal with three commands", QueueLadder.text("renew_each.lua"), many, each, RENEWED),
                new Shape("a renewal: as it is", LuaScript.RENEW.text(), many, together, RENEWED));
    }

    private static List<String> call(String... arguments) {
        return Stream.of(List.of("6"), List.of(KeyLayout.allOf(LOCK)), List.of(arguments))
                .flatMap(List::stream)
                .toList();
    }
}
